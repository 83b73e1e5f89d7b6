// Has WebGPU's compiler (Dawn's Tint) check files of WGSL; needs no GPU. In a folder where `npm install webgpu` was said:
//   KILN_WGSL_VALIDATOR="node .../validate_wgsl.mjs" KILN_WEBGPU=FOLDER test_expression
import { readFileSync } from 'fs';
import { createRequire } from 'module';
const { create } = createRequire((process.env.KILN_WEBGPU ?? process.cwd()) + '/')('webgpu');
globalThis.gpu = create(['backend=null']);
const adapter = await globalThis.gpu.requestAdapter();
const device = await adapter.requestDevice();
let wrong = 0;
for (const file of process.argv.slice(2)) {
  device.pushErrorScope('validation');
  const module = device.createShaderModule({ code: readFileSync(file, 'utf8') });
  for (const message of (await module.getCompilationInfo()).messages) {
    if (message.type !== 'error') continue;
    ++wrong;
    console.log(`${file}:${message.lineNum}:${message.linePos}: ${message.message}`);
  }
  await device.popErrorScope();
}
process.exit(wrong ? 1 : 0);
