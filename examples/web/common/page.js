// What the pages share: elements by their id, errors and notes for people, the device that the address asks for.
import {Kiln} from '../kiln/index.js';

export const el = id => document.getElementById(id);

/** Shows an error where a screen reader announces it, too; without one, removes it. */
export function showError(error) {
  el('error').textContent = error ? `${error.message ?? error}` : '';
  document.documentElement.dataset.failed = error ? 'yes' : 'no';
}
export function note(text) {
  el('note').textContent = text;
}

/** Shows what a function throws, or a promise rejects with, and goes on. */
export async function guarded(run) {
  try {
    return await run();
  } catch (error) {
    if (error?.name !== 'AbortError') showError(error);
    return undefined;
  }
}
addEventListener('unhandledrejection', event => showError(event.reason));

const wish = new URLSearchParams(location.search).get('device') ?? 'cpu';

/**
 * A module of Kiln in a worker that ends with the page, on ?device=... of the address where that is to be had, or the processor.
 * `webgpu`: one with WebGPU, though the processor computes first.
 */
export async function startKiln(name, {webgpu = wish.startsWith('webgpu')} = {}) {
  const kiln = await Kiln.start({module: new URL(`../modules/${name}.js`, import.meta.url), worker: true, webgpu});
  // A page that is left does no more work. Chromium would keep the page for the way back and freeze its worker before it has ended;
  // a page that hears `unload` is not kept. Where one is kept all the same, it begins anew.
  addEventListener('unload', () => {});
  addEventListener('pagehide', () => kiln.close());
  addEventListener('pageshow', event => { if (event.persisted) location.reload(); });
  try {
    await kiln.useDevice(wish);
  } catch (error) {
    note(`${wish} is not to be had here (${error.message}). The processor computes instead.`);
    await kiln.useDevice('cpu');
  }
  el('device').textContent = await kiln.device();
  return kiln;
}

/** A list of names with bars from 0 to 1; `best` is the index of the one to point out. */
export function showBars(list, rows, best) {
  while (list.children.length > rows.length) list.lastElementChild.remove();
  rows.forEach(({name, share}, i) => {
    let row = list.children[i];
    if (!row) {
      row = document.createElement('li');
      row.innerHTML = '<span class="name"></span><span class="bar" aria-hidden="true"><i></i></span><span class="share"></span>';
      list.append(row);
    }
    row.classList.toggle('best', i === best);
    row.querySelector('.name').textContent = name;
    row.querySelector('i').style.width = `${100 * share}%`;
    row.querySelector('.share').textContent = `${(100 * share).toFixed(1)} %`;
  });
}

export const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
