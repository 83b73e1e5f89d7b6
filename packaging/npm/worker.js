// The script of the worker that a WorkerInstance starts: an Instance that hears messages.
import {KilnError} from './src/errors.js';
import {Instance} from './src/instance.js';

let instance = null, stop = null;
const downloads = new Map();  // what may be aborted, by number

async function start({module, options, stop: flag}) {
  let factory;
  try {
    factory = (await import(module)).default;
  } catch (error) {
    throw new KilnError('IoError', `${module}: Kiln's module could not be imported (${error.message}): is it there?`);
  }
  stop = flag;
  instance = await Instance.start(factory, options);
}

function call(number, {name, args}) {
  const onCallback = (callback, item) => {
    postMessage({number, callback: {number: callback, item}});
    return !stop || Atomics.load(stop, 0) !== number;
  };
  return instance.call(name, args, {onCallback});
}

async function load(number, {source, request}) {
  const abort = new AbortController();
  downloads.set(number, abort);
  try {
    return await instance.load(source, request,
        {onProgress: progress => postMessage({number, progress}), signal: abort.signal});
  } finally {
    downloads.delete(number);
  }
}

onmessage = async ({data}) => {
  const {number} = data;
  if (data.abort !== undefined) return downloads.get(data.abort)?.abort();
  try {
    if (data.start) await start(data.start);
    const result = data.call ? await call(number, data.call) : data.load ? await load(number, data.load) : null;
    postMessage({number, result});
  } catch (error) {
    postMessage({number, error: KilnError.toData(error)});
  }
};
