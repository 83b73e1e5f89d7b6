// The training: some steps at a time in the worker, so that drawings are read in between, and a curve of them.
import {el, guarded, showError} from '../common/page.js';
import {Plot} from '../common/plot.js';

const MNIST = {
  train_images: 'train-images-idx3-ubyte.gz',
  train_labels: 'train-labels-idx1-ubyte.gz',
  test_images: 't10k-images-idx3-ubyte.gz',
  test_labels: 't10k-labels-idx1-ubyte.gz',
};
const folder = new URL('../data/mnist/', import.meta.url);

export class Trainer {
  #plot = new Plot(el('curve'));
  #stopped = true;
  #running = Promise.resolve();

  /** `use` gets the network that was trained. */
  constructor(kiln, use) {
    Object.assign(this, {kiln, use});
    el('train').addEventListener('click', () => { this.#running = guarded(() => this.#train()); });
    el('stop').addEventListener('click', () => this.stop());
  }

  /** Ends a training after the step that runs, with a last test. The promise is fulfilled once it has ended, however it did. */
  stop() {
    this.#stopped = true;
    return this.#running;
  }

  /** Looks which data there are. */
  async start() {
    const mnist = await fetch(new URL(MNIST.test_labels, folder), {method: 'HEAD'}).then(answer => answer.ok, () => false);
    if (mnist) el('data').prepend(new Option('MNIST', 'mnist', true, true));
    el('train').disabled = false;
  }

  async #begin(settings) {
    if (el('data').value !== 'mnist') return this.kiln.functions.train_on_drawn(20000, settings);
    const files = {};
    for (const [name, file] of Object.entries(MNIST)) {
      this.#say(`fetching ${file}`);
      const answer = await fetch(new URL(file, folder));
      if (!answer.ok) throw new Error(`${file}: the server answered ${answer.status}`);
      files[name] = new Uint8Array(await answer.arrayBuffer());
    }
    return this.kiln.functions.train_on_mnist(files, settings);
  }

  async #train() {
    showError(null);
    this.#stopped = false;
    el('train').disabled = true;
    el('stop').disabled = false;
    let training = null;
    try {
      training = await this.#begin({epochs: Number(new URLSearchParams(location.search).get('epochs') ?? 1)});
      if (this.#stopped) return this.#say('stopped before the first step');
      await this.#run(training);
      this.use(await this.kiln.functions.trained_reader(training));
    } finally {
      training?.dispose();
      this.#stopped = true;
      el('train').disabled = false;
      el('stop').disabled = true;
    }
  }

  async #run(training) {
    const begun = performance.now();
    let last = null, left = true, count = 1, tested = 0;
    while (left && !this.#stopped) {
      const start = performance.now(), before = last?.step ?? 0;
      left = await this.kiln.functions.train(training, count, progress => {
        if (!last) this.#plot.clear(progress.steps);
        last = progress;
        this.#plot.add(progress);
      });
      if (!Number.isFinite(last.loss)) throw new Error('the loss is no number any more: the training went wrong, begin again');
      // About a fifth of a second at a time.
      const each = (performance.now() - start) / Math.max(1, last.step - before);
      count = Math.max(1, Math.min(50, Math.round(200 / each)));
      if (last.step - tested >= 100 || !left) {
        tested = last.step;
        this.#test(last.step, await this.kiln.functions.test_accuracy(training, 500));
      }
      el('progress').value = last.step / last.steps;
      this.#say(`step ${last.step} of ${last.steps}, loss ${this.#plot.loss.at(-1)[1].toFixed(3)}` + this.#tested() +
          `, ${(last.step / (performance.now() - begun) * 1000).toFixed(1)} steps a second`);
      this.#plot.draw();
    }
    this.#test(last.step, await this.kiln.functions.test_accuracy(training, 10000));
    this.#say(`${left ? 'stopped' : 'trained'} after ${last.step} steps in ` +
        `${((performance.now() - begun) / 1000).toFixed(0)} s${this.#tested()}: it reads your digit now`);
    this.#plot.draw();
  }

  #test(step, accuracy) {
    this.#plot.addTest(step, accuracy);
    el('state').dataset.accuracy = accuracy;
  }
  #tested() {
    const test = this.#plot.tests.at(-1);
    return test ? `, test accuracy ${(100 * test[1]).toFixed(1)} %` : '';
  }
  #say(text) { el('state').textContent = text; }
}
