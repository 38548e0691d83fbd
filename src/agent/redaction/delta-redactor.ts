import type { SecretRedactor } from './secret-redactor.ts'

/** Redacts streamed text: a possible start of a secret is held back until more text arrives. */
export class DeltaRedactor {
  #held = ''
  readonly #redactor: SecretRedactor
  readonly #emit: (text: string) => void

  constructor(redactor: SecretRedactor, emit: (text: string) => void) {
    this.#redactor = redactor
    this.#emit = emit
  }

  add(piece: string): void {
    const text = this.#held + piece
    const from = this.#redactor.heldFrom(text)
    this.#held = text.slice(from)
    this.#flush(text.slice(0, from))
  }

  /** Emits the held text. Call it when the text is complete. */
  end(): void {
    this.#flush(this.#held)
    this.#held = ''
  }

  #flush(text: string): void {
    if (text !== '') this.#emit(this.#redactor.redact(text))
  }
}
