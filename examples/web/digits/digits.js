// The page: a board, what the network reads on it, and a training that makes another network.
import {guarded, startKiln} from '../common/page.js';
import {Reading, fetchWeights} from './reading.js';
import {Trainer} from './trainer.js';

const reading = new Reading();

async function start() {
  const kiln = await startKiln('digits');
  const trainer = new Trainer(kiln, model => reading.use(kiln, model));
  guarded(() => trainer.start());
  const address = new URLSearchParams(location.search).get('weights') ?? 'digits.safetensors';
  reading.use(kiln, await kiln.functions.reader(await fetchWeights(address), address.split('/').pop()));
}

await guarded(start);
document.documentElement.dataset.ready = reading.ready ? 'yes' : 'no';
