// The page: a board, what the network reads on it, and a training that makes another network.
import {el, guarded, note, showBars, showError, startKiln} from '../common/page.js';
import {Board} from './board.js';
import {Trainer} from './trainer.js';

let kiln = null, reader = null, waiting = false, reading = false;

/** Reads the board once more after it has changed, as often as the network is ready. */
async function readBoard() {
  waiting = true;
  if (reading || !reader) return;
  reading = true;
  while (waiting) {
    waiting = false;
    if (board.empty) {
      show({digit: null, probabilities: new Array(10).fill(0), seen: new Float32Array(784)});
      continue;
    }
    const start = performance.now();
    const read = await guarded(() => kiln.functions.read(reader, board.drawing()));
    if (!read) break;
    el('milliseconds').textContent = (performance.now() - start).toFixed(1);
    show(read);
  }
  reading = false;
}

function show({digit, probabilities, seen}) {
  showBars(el('bars'), probabilities.map((share, name) => ({name, share})), digit);
  el('reading').textContent = digit === null ? 'Nothing yet.' : `${digit}, ${(100 * probabilities[digit]).toFixed(1)} %`;
  el('reading').dataset.digit = digit ?? '';
  const pen = el('seen').getContext('2d'), picture = pen.createImageData(28, 28);
  seen.forEach((ink, i) => picture.data.set([255, 255, 255, 255 * ink], 4 * i));
  pen.putImageData(picture, 0, 0);
}

/** From now on another network reads. */
function use(model) {
  reader?.dispose();
  reader = model;
  readBoard();
}

async function start() {
  kiln = await startKiln('digits');
  const trainer = new Trainer(kiln, use);
  guarded(() => trainer.start());
  const address = new URLSearchParams(location.search).get('weights') ?? 'digits.safetensors';
  const answer = await fetch(address).catch(error => { throw new Error(`${address} could not be fetched: ${error.message}`); });
  if (!answer.ok) throw new Error(`${address}: the server answered ${answer.status}: train a network here instead`);
  use(await kiln.functions.reader(new Uint8Array(await answer.arrayBuffer()), address.split('/').pop()));
}

const board = new Board(el('drawing'), () => readBoard());
el('clear').addEventListener('click', () => { board.clear(); el('drawing').focus(); });
show({digit: null, probabilities: new Array(10).fill(0), seen: new Float32Array(784)});
await guarded(start);
document.documentElement.dataset.ready = reader ? 'yes' : 'no';
