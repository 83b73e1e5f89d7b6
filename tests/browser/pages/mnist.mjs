// Digits to draw: those of MNIST's test set where its files are, otherwise none.
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {gunzipSync} from 'node:zlib';

const IMAGES = 't10k-images-idx3-ubyte.gz', LABELS = 't10k-labels-idx1-ubyte.gz';

export const hasMnist = folder => Boolean(folder) && [IMAGES, LABELS].every(file => existsSync(join(folder, file)));

/** [{pixels: 784 bytes, label}], from the first on. */
export function testDigits(folder, count, first = 0) {
  const images = gunzipSync(readFileSync(join(folder, IMAGES))), labels = gunzipSync(readFileSync(join(folder, LABELS)));
  return Array.from({length: count}, (_, i) => ({
    pixels: images.subarray(16 + 784 * (first + i), 16 + 784 * (first + i + 1)),
    label: labels[8 + first + i],
  }));
}

/**
 * The strokes of a digit as lines in a square of side 1: the ink is thinned (Zhang and Suen, "A fast parallel algorithm for
 * thinning digital patterns", 1984), and neighbours among what is left are joined.
 */
export function strokes({pixels}) {
  const side = 28, ink = Uint8Array.from(pixels, pixel => pixel > 100 ? 1 : 0);
  const at = (y, x) => y >= 0 && x >= 0 && y < side && x < side ? ink[y * side + x] : 0;
  const around = (y, x) => [[-1, 0], [-1, 1], [0, 1], [1, 1], [1, 0], [1, -1], [0, -1], [-1, -1]].map(([dy, dx]) => at(y + dy, x + dx));
  for (let changed = true; changed;) {
    changed = false;
    for (const second of [false, true]) {
      const gone = [];
      for (let y = 0; y < side; ++y)
        for (let x = 0; x < side; ++x) {
          if (!at(y, x)) continue;
          const n = around(y, x), count = n.reduce((sum, each) => sum + each, 0);
          const turns = n.filter((each, i) => !each && n[(i + 1) % 8]).length;
          const [up, , right, , down, , left] = n;
          const edges = second ? !(up && right && left) && !(up && down && left) : !(up && right && down) && !(right && down && left);
          if (count >= 2 && count <= 6 && turns === 1 && edges) gone.push(y * side + x);
        }
      for (const place of gone) ink[place] = 0;
      changed ||= gone.length > 0;
    }
  }
  const lines = [], centre = (y, x) => ({x: (x + 0.5) / side, y: (y + 0.5) / side});
  for (let y = 0; y < side; ++y)
    for (let x = 0; x < side; ++x) {
      if (!at(y, x)) continue;
      let joined = false;
      for (const [dy, dx] of [[0, 1], [1, 0], [1, 1], [1, -1]]) {
        if (!at(y + dy, x + dx)) continue;
        // A diagonal beside two straight steps would fill a corner.
        if (dy && dx && (at(y + dy, x) || at(y, x + dx))) continue;
        lines.push([centre(y, x), centre(y + dy, x + dx)]);
        joined = true;
      }
      if (!joined && !around(y, x).some(Boolean)) lines.push([centre(y, x), centre(y, x)]);
    }
  return lines;
}
