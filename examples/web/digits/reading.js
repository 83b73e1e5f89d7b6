// The board, and what a network reads on it while somebody draws.
import {el, guarded, showBars} from '../common/page.js';
import {Board} from './board.js';

const NOTHING = {digit: null, probabilities: new Array(10).fill(0), seen: new Float32Array(784)};

export class Reading {
  #kiln = null;
  #reader = null;
  #waiting = false;
  #reading = false;
  #board = new Board(el('drawing'), () => this.#read());

  constructor() {
    el('clear').addEventListener('click', () => { this.#board.clear(); el('drawing').focus(); });
    this.#show(NOTHING);
  }

  /** Whether there is a network that reads. */
  get ready() { return this.#reader !== null; }

  /** From now on another network reads, or none. */
  use(kiln, reader) {
    this.#reader?.dispose();
    this.#kiln = kiln;
    this.#reader = reader;
    this.#read();
  }

  /** Reads the board once more after it has changed, as often as the network is ready. */
  async #read() {
    this.#waiting = true;
    if (this.#reading || !this.#reader) return;
    this.#reading = true;
    while (this.#waiting && this.#reader) {
      this.#waiting = false;
      if (this.#board.empty) {
        this.#show(NOTHING);
        continue;
      }
      const start = performance.now();
      const read = await guarded(() => this.#kiln.functions.read(this.#reader, this.#board.drawing()));
      if (!read) break;
      el('milliseconds').textContent = (performance.now() - start).toFixed(1);
      this.#show(read);
    }
    this.#reading = false;
  }

  #show({digit, probabilities, seen}) {
    showBars(el('bars'), probabilities.map((share, name) => ({name, share})), digit);
    el('reading').textContent = digit === null ? 'Nothing yet.' : `${digit}, ${(100 * probabilities[digit]).toFixed(1)} %`;
    el('reading').dataset.digit = digit ?? '';
    const pen = el('seen').getContext('2d'), picture = pen.createImageData(28, 28);
    seen.forEach((ink, i) => picture.data.set([255, 255, 255, 255 * ink], 4 * i));
    pen.putImageData(picture, 0, 0);
  }
}

/** A file of weights as bytes. */
export async function fetchWeights(address) {
  const answer = await fetch(address).catch(error => { throw new Error(`${address} could not be fetched: ${error.message}`); });
  if (!answer.ok) throw new Error(`${address}: the server answered ${answer.status}: train a network here instead`);
  return new Uint8Array(await answer.arrayBuffer());
}
