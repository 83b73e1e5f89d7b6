// The page: a form that connects with a server, and the digits of the page beside this one, computed there.
import {el, guarded, showError, startKiln} from '../common/page.js';
import {Reading, fetchWeights} from '../digits/reading.js';
import {Trainer} from '../digits/trainer.js';

const WEIGHTS = '../digits/digits.safetensors';
const reading = new Reading();
let kiln = null, trainer = null, server = null;

const kilobytes = bytes => bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;

function show(state, text) {
  document.documentElement.dataset.server = state;
  el('server').textContent = text;
  el('connect').disabled = state !== 'none';
  el('leave').disabled = state !== 'connected';
  for (const id of ['address', 'token']) el(id).disabled = state !== 'none';
  el('work').hidden = state !== 'connected';
}

async function connect() {
  showError(null);
  const address = el('address').value.trim();
  show('connecting', `connecting with ${address}`);
  try {
    server = await kiln.functions.connect(address, el('token').value);
    const name = await kiln.functions.server_name(server);
    reading.use(kiln, await kiln.functions.reader(await fetchWeights(WEIGHTS), WEIGHTS.split('/').pop()));
    show('connected', `connected with ${name}`);
    watch(server);
  } catch (error) {
    await leave();
    throw error;
  }
}

/** Ends the session. What the server has of this page is freed there. */
async function leave() {
  const left = server;
  server = null;
  await trainer.stop();
  reading.use(kiln, null);
  if (left) {
    await guarded(() => kiln.functions.leave(left));
    left.dispose();
  }
  show('none', 'not connected');
  el('traffic').textContent = '';
}

/** Shows what goes to and fro, until the connection ends. */
async function watch(watched) {
  while (server === watched) {
    const traffic = await guarded(() => kiln.functions.traffic(watched));
    if (!traffic || server !== watched) return;
    if (traffic.lost) {
      if (!el('error').textContent) showError(`the connection with ${el('address').value} was lost: connect again`);
      return leave();
    }
    el('traffic').textContent = `${traffic.calls} operations, ${kilobytes(traffic.sent)} sent, ${kilobytes(traffic.received)} received` +
        (traffic.reconnections ? `, ${traffic.reconnections} times connected again` : '');
    await new Promise(resolve => setTimeout(resolve, 500));
  }
}

el('command').textContent = `kiln host --device cpu --token SECRET --origin ${location.origin}`;
el('form').addEventListener('submit', event => {
  event.preventDefault();
  guarded(connect);
});
el('leave').addEventListener('click', () => guarded(leave));

await guarded(async () => {
  kiln = await startKiln('remote');
  trainer = new Trainer(kiln, model => reading.use(kiln, model));
  await trainer.start();
  show('none', 'not connected');
});
document.documentElement.dataset.ready = kiln ? 'yes' : 'no';
