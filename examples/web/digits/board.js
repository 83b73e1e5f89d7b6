// The board that is drawn on: with a mouse, a pen, fingers, or the arrow keys.
const SIDE = 280, INK = 19;  // pixels; ink is about two of the 28 that the network sees

export class Board {
  #pen;
  #strokes = new Map();  // the last place of each pointer that is down
  #cursor = {x: SIDE / 2, y: SIDE / 2, down: false, shown: false};
  #layer = document.createElement('canvas');  // the ink alone, without the cursor

  /** `changed()` is called after each change. */
  constructor(canvas, changed) {
    this.canvas = canvas;
    this.changed = changed;
    this.#layer.width = this.#layer.height = SIDE;
    this.#pen = this.#layer.getContext('2d', {willReadFrequently: true});
    Object.assign(this.#pen, {lineWidth: INK, lineCap: 'round', lineJoin: 'round', strokeStyle: '#fff', fillStyle: '#fff'});
    canvas.addEventListener('pointerdown', event => this.#down(event));
    canvas.addEventListener('pointermove', event => this.#move(event));
    for (const end of ['pointerup', 'pointercancel']) canvas.addEventListener(end, event => this.#strokes.delete(event.pointerId));
    canvas.addEventListener('keydown', event => this.#key(event));
    canvas.addEventListener('blur', () => { this.#cursor.shown = this.#cursor.down = false; this.#show(); });
    this.clear();
  }

  clear() {
    this.#pen.clearRect(0, 0, SIDE, SIDE);
    this.empty = true;
    this.#cursor.down = false;
    this.#show();
    this.changed();
  }

  /** {data, shape}: the ink, 0 to 255, row by row. */
  drawing() {
    const {data} = this.#pen.getImageData(0, 0, SIDE, SIDE), ink = new Uint8Array(SIDE * SIDE);
    for (let i = 0; i < ink.length; ++i) ink[i] = data[4 * i + 3];
    return {data: ink, shape: [SIDE, SIDE]};
  }

  #place(event) {
    const box = this.canvas.getBoundingClientRect();
    return {x: (event.clientX - box.left) / box.width * SIDE, y: (event.clientY - box.top) / box.height * SIDE};
  }
  #down(event) {
    if (event.button > 0) return;
    event.preventDefault();
    this.canvas.focus({preventScroll: true});
    // A pointer that a program made up cannot be captured.
    try { this.canvas.setPointerCapture(event.pointerId); } catch {}
    this.#cursor.shown = false;
    const place = this.#place(event);
    this.#strokes.set(event.pointerId, place);
    this.#line(place, place);
  }
  #move(event) {
    const last = this.#strokes.get(event.pointerId);
    if (!last) return;
    for (const each of event.getCoalescedEvents?.().length ? event.getCoalescedEvents() : [event]) {
      const from = this.#strokes.get(event.pointerId), to = this.#place(each);
      this.#strokes.set(event.pointerId, to);
      this.#line(from, to);
    }
  }
  #key(event) {
    const step = event.shiftKey ? 4 : 10, cursor = this.#cursor;
    const [dx, dy] = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key] ?? [0, 0];
    if (event.key === 'Delete' || event.key === 'Backspace') this.clear();
    else if (event.key === ' ') cursor.down = !cursor.down;
    else if (!dx && !dy) return;
    event.preventDefault();
    const from = {...cursor};
    cursor.x = Math.min(SIDE, Math.max(0, cursor.x + step * dx));
    cursor.y = Math.min(SIDE, Math.max(0, cursor.y + step * dy));
    cursor.shown = true;
    if (cursor.down) this.#line(from, cursor);
    else this.#show();
  }
  #line(from, to) {
    this.#pen.beginPath();
    this.#pen.moveTo(from.x, from.y);
    this.#pen.lineTo(to.x, to.y);
    this.#pen.stroke();
    this.empty = false;
    this.#show();
    this.changed();
  }
  #show() {
    const view = this.canvas.getContext('2d'), cursor = this.#cursor;
    view.clearRect(0, 0, SIDE, SIDE);
    view.drawImage(this.#layer, 0, 0);
    if (!cursor.shown) return;
    view.strokeStyle = cursor.down ? '#f0875a' : '#8fb8ff';
    view.lineWidth = 3;
    view.beginPath();
    view.arc(cursor.x, cursor.y, INK / 2 + 2, 0, 7);
    view.stroke();
  }
}
