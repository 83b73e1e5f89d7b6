// Pictures as networks of ImageNet take them.
const MEAN = [0.485, 0.456, 0.406], DEVIATION = [0.229, 0.224, 0.225];

/** Draws the middle square of an image, a video or another canvas. */
export function drawSquare(canvas, source, width, height) {
  const side = Math.min(width, height);
  if (!side) throw new Error('the picture has no pixels');
  canvas.getContext('2d').drawImage(source, (width - side) / 2, (height - side) / 2, side, side, 0, 0, canvas.width, canvas.height);
}

/** {data, shape}: the canvas as float32 [1, 3, side, side], each colour minus its mean and over its deviation. */
export function normalised(canvas, side) {
  const small = new OffscreenCanvas(side, side), pen = small.getContext('2d', {willReadFrequently: true});
  pen.imageSmoothingQuality = 'high';
  pen.drawImage(canvas, 0, 0, side, side);
  const {data} = pen.getImageData(0, 0, side, side), planes = new Float32Array(3 * side * side);
  for (let colour = 0; colour < 3; ++colour)
    for (let i = 0; i < side * side; ++i)
      planes[colour * side * side + i] = (data[4 * i + colour] / 255 - MEAN[colour]) / DEVIATION[colour];
  return {data: planes, shape: [1, 3, side, side]};
}

/** The most probable classes of scores or probabilities: [{name, share}], the first first. */
export function best(scores, labels, count) {
  const sum = scores.reduce((total, score) => total + score, 0);
  const areShares = scores.every(score => score >= 0) && Math.abs(sum - 1) < 1e-3, most = Math.max(...scores);
  const shares = areShares ? [...scores] : [...scores].map(score => Math.exp(score - most));
  const total = shares.reduce((all, share) => all + share, 0);
  return shares.map((share, i) => ({name: labels[i] ?? `class ${i}`, share: share / total}))
      .sort((a, b) => b.share - a.share).slice(0, count);
}
