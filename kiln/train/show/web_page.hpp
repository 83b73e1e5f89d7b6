// The page of a WebDashboard: it draws what /events sends, and requests nothing from other machines.
#pragma once
#include <string_view>

namespace kiln {

inline constexpr std::string_view kWebPage = R"page(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Training</title>
<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="icon" href="data:,">
<style>
:root{color-scheme:light dark;--ink:#222;--faint:#8888;--paper:#fafafa}
@media(prefers-color-scheme:dark){:root{--ink:#ddd;--paper:#181818}}
body{font:14px system-ui,sans-serif;margin:1em;color:var(--ink);background:var(--paper)}
header{display:flex;gap:1em;align-items:center;flex-wrap:wrap}h1{font-size:1.2em;margin:0}
progress{width:14em}#plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(22em,1fr));gap:1em;margin:1em 0}
figure{margin:0}canvas{width:100%;height:12em;border:1px solid var(--faint);cursor:grab;touch-action:none}
table{border-collapse:collapse}td,th{padding:.1em .8em;text-align:right}td:first-child,th:first-child{text-align:left}
#said{height:10em;overflow:auto;border:1px solid var(--faint);padding:.4em;white-space:pre-wrap;font-family:monospace}
</style></head><body>
<header><h1>Training</h1><span id="state">connecting</span><progress id="bar" max="1" value="0"></progress>
<span id="speed"></span><span id="machine"></span><button id="save">Save</button><button id="stop">Stop</button></header>
<div id="plots"></div><table id="rows"></table><h2>Log</h2><div id="said"></div>
<script>
"use strict";
const colours={train:"#d33",step:"#d339",valid:"#36c"},others=["#393","#a5a","#c80","#088"],most=4000;
let series=new Map(),dirty=true,all=[Infinity,-Infinity],view=null,grabbed=null;
const el=id=>document.getElementById(id),short=x=>x===null?"":Number(x.toPrecision(5)).toString();
function add([split,metric,step,value]){
  if(value===null)return;
  all=[Math.min(all[0],step),Math.max(all[1],step)];
  if(!series.has(metric))series.set(metric,new Map());
  const splits=series.get(metric);
  if(!splits.has(split))splits.set(split,[]);
  const points=splits.get(split);
  points.push([step,value]);
  if(points.length>most)splits.set(split,points.filter((_,i)=>i%2===0));
}
// All plots look at the same steps: the wheel zooms, dragging goes back and forward, a double click shows all again.
function look(from,to){
  const most=all[1]-all[0],width=Math.max(to-from,1);
  from=Math.min(Math.max(from,all[0]),all[1]-width);
  view=width>=most?null:[from,from+width];dirty=true;
}
function watch(canvas){
  canvas.onwheel=e=>{
    e.preventDefault();
    const [a,b]=canvas.range,at=a+(e.offsetX-50)/(canvas.clientWidth-60)*(b-a),f=e.deltaY<0?.8:1.25;
    look(at-(at-a)*f,at+(b-at)*f);
  };
  canvas.onpointerdown=e=>{grabbed={x:e.clientX,canvas,range:canvas.range};};
  canvas.ondblclick=()=>{view=null;dirty=true;};
}
addEventListener("pointermove",e=>{
  if(!grabbed)return;
  const [a,b]=grabbed.range,moved=(e.clientX-grabbed.x)/(grabbed.canvas.clientWidth-60)*(b-a);
  look(a-moved,b-moved);
});
addEventListener("pointerup",()=>{grabbed=null;});
function plot(metric,splits){
  let figure=document.querySelector('figure[data-metric="'+CSS.escape(metric)+'"]');
  if(!figure){
    figure=document.createElement("figure");figure.dataset.metric=metric;
    figure.append(document.createElement("figcaption"),document.createElement("canvas"));el("plots").append(figure);
    watch(figure.querySelector("canvas"));
  }
  const canvas=figure.querySelector("canvas"),scale=devicePixelRatio||1,w=canvas.clientWidth,h=canvas.clientHeight;
  canvas.width=w*scale;canvas.height=h*scale;
  const g=canvas.getContext("2d");g.scale(scale,scale);
  let x0=Infinity,x1=-Infinity,y0=Infinity,y1=-Infinity;
  for(const points of splits.values())for(const [x,y] of points){
    x0=Math.min(x0,x);x1=Math.max(x1,x);
    if(!view||(x>=view[0]&&x<=view[1])){y0=Math.min(y0,y);y1=Math.max(y1,y);}}
  if(view)[x0,x1]=view;
  if(x1===x0)x1=x0+1;if(y0>y1)y0=y1=0;if(y1===y0){y1+=.5;y0-=.5;}
  canvas.range=[x0,x1];
  const px=x=>50+(x-x0)/(x1-x0)*(w-60),py=y=>h-18-(y-y0)/(y1-y0)*(h-28);
  g.fillStyle=getComputedStyle(document.body).color;g.font="11px system-ui";
  g.fillText(short(y1),2,14);g.fillText(short(y0),2,h-16);g.fillText(String(Math.round(x0)),50,h-3);g.textAlign="right";
  g.fillText(String(Math.round(x1)),w-4,h-3);g.beginPath();g.rect(48,0,w-56,h-16);g.clip();
  let names=[],n=0;
  for(const [split,points] of splits){
    g.strokeStyle=colours[split]||others[n++%others.length];g.lineWidth=split==="step"?1:2;g.beginPath();
    points.forEach(([x,y],i)=>i?g.lineTo(px(x),py(y)):g.moveTo(px(x),py(y)));g.stroke();
    names.push([split,g.strokeStyle]);
  }
  const caption=figure.querySelector("figcaption");caption.textContent=metric+" ";
  for(const [name,colour] of names){const s=document.createElement("span");s.textContent=" "+name;s.style.color=colour;caption.append(s);}
}
function rows(list){
  const table=el("rows");table.replaceChildren();
  for(const cells of [["","last","least","greatest"],...list.map(r=>[r[0]+" "+r[1],r[6]===undefined?short(r[2]):r[6],r[5]?short(r[3]):"",r[5]?short(r[4]):""])]){
    const tr=table.insertRow();for(const cell of cells)tr.insertCell().textContent=cell;}
}
const source=new EventSource("events");
source.addEventListener("news",message=>{
  const news=JSON.parse(message.data);
  if(news.all){series=new Map();all=[Infinity,-Infinity];el("plots").replaceChildren();el("said").textContent="";}
  news.points.forEach(add);
  el("state").textContent=news.ended||"epoch "+news.epoch+", step "+news.step+(news.left?", "+news.left+" left":"");
  el("bar").value=news.ended?1:news.share||news.epochShare||0;
  el("speed").textContent=news.speed?short(news.speed)+" items/s":"";
  el("machine").textContent=news.machine;
  rows(news.rows);
  for(const line of news.said)el("said").append(line+"\n");
  if(news.said.length)el("said").scrollTop=1e9;
  el("stop").disabled=el("save").disabled=!!news.ended;
  dirty=true;
});
source.onerror=()=>{el("state").textContent="the program does not answer";};
setInterval(()=>{if(!dirty||document.hidden)return;dirty=false;for(const [metric,splits] of series)plot(metric,splits);},200);
addEventListener("resize",()=>{dirty=true;});
for(const what of ["stop","save"])el(what).onclick=()=>fetch(what,{method:"POST"});
</script></body></html>
)page";

}  // namespace kiln
