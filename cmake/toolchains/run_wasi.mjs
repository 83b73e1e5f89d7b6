// node run_wasi.mjs PROGRAM.wasm [ARGS]: runs it as a program of this system, without its files.
import {readFile} from 'node:fs/promises';
import {WASI} from 'node:wasi';

const args = process.argv.slice(2);
const wasi = new WASI({version: 'preview1', args, returnOnExit: true});
const {instance} = await WebAssembly.instantiate(await readFile(args[0]), {wasi_snapshot_preview1: wasi.wasiImport});
process.exitCode = wasi.start(instance);
