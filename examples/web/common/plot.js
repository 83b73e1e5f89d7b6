// A plot of two curves over steps: the loss, with its own scale at the left, and the accuracy from 0 to 1 at the right.
import {colour} from './page.js';

export class Plot {
  constructor(canvas) {
    this.canvas = canvas;
    this.clear(1);
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }
  clear(steps) {
    this.steps = steps;
    this.loss = [];
    this.accuracy = [];  // means of batches, smoothed
    this.tests = [];
    this.draw();
  }
  add({step, loss, accuracy}) {
    const smooth = (list, value) => list.length ? 0.9 * list.at(-1)[1] + 0.1 * value : value;
    this.loss.push([step, smooth(this.loss, loss)]);
    this.accuracy.push([step, smooth(this.accuracy, accuracy)]);
  }
  addTest(step, accuracy) { this.tests.push([step, accuracy]); }

  draw() {
    const {canvas} = this, ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width) return;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const pen = canvas.getContext('2d'), left = 34, right = width - 40, top = 10, bottom = height - 22;
    pen.scale(ratio, ratio);
    pen.font = '12px system-ui';
    const most = Math.max(0.1, ...this.loss.map(([, loss]) => Number.isFinite(loss) ? loss : 0));
    const x = step => left + step / this.steps * (right - left);
    const yLoss = loss => bottom - loss / most * (bottom - top), yShare = share => bottom - share * (bottom - top);
    pen.strokeStyle = colour('--line');
    pen.fillStyle = colour('--soft');
    for (const share of [0, 0.5, 0.95]) {
      pen.beginPath();
      pen.moveTo(left, yShare(share));
      pen.lineTo(right, yShare(share));
      pen.stroke();
      pen.textAlign = 'left';
      pen.fillText(`${100 * share} %`, right + 4, yShare(share) + 4);
    }
    pen.textAlign = 'right';
    pen.fillText(most.toFixed(1), left - 4, top + 8);
    pen.fillText('0', left - 4, bottom + 4);
    if (this.loss.length) pen.fillText(`${this.steps} steps`, right, height - 5);
    this.#curve(pen, this.loss.map(([step, loss]) => [x(step), yLoss(loss)]), colour('--accent'));
    this.#curve(pen, this.accuracy.map(([step, share]) => [x(step), yShare(share)]), colour('--curve'));
    pen.fillStyle = colour('--curve');
    for (const [step, share] of this.tests) {
      pen.beginPath();
      pen.arc(x(step), yShare(share), 4, 0, 7);
      pen.fill();
    }
  }
  #curve(pen, points, stroke) {
    pen.strokeStyle = stroke;
    pen.lineWidth = 2;
    pen.beginPath();
    points.forEach(([x, y], i) => i ? pen.lineTo(x, y) : pen.moveTo(x, y));
    pen.stroke();
    pen.lineWidth = 1;
  }
}
