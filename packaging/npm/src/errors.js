// Errors with Kiln's sentences.

/** An error of Kiln: `kind` is its class ("ShapeError", "DataError", ...), `message` the sentence with cause and remedy. */
export class KilnError extends Error {
  constructor(kind, message, options) {
    super(message, options);
    this.name = 'KilnError';
    this.kind = kind;
  }

  /** An error as data that crosses to another thread, and back. */
  static toData(error) {
    if (error instanceof KilnError) return {kind: error.kind, message: error.message};
    return {kind: error?.name === 'AbortError' ? 'AbortError' : 'Error', message: String(error?.message ?? error)};
  }
  static fromData({kind, message}) {
    return kind === 'AbortError' ? new DOMException(message, 'AbortError') : new KilnError(kind, message);
  }
}
