import type { AgentServices } from './agent-services.ts'

/** A text that comes in pieces, told without secrets: what may be the beginning of one waits for what follows. */
export class DeltaRedactor {
  #held = ''
  readonly #services: Pick<AgentServices, 'redact' | 'heldFrom'>
  readonly #tell: (text: string) => void

  constructor(services: Pick<AgentServices, 'redact' | 'heldFrom'>, tell: (text: string) => void) {
    this.#services = services
    this.#tell = tell
  }

  add(piece: string): void {
    const text = this.#held + piece
    const from = this.#services.heldFrom(text)
    this.#held = text.slice(from)
    this.#say(text.slice(0, from))
  }

  /** Nothing follows any more. */
  end(): void {
    this.#say(this.#held)
    this.#held = ''
  }

  #say(text: string): void {
    if (text !== '') this.#tell(this.#services.redact(text))
  }
}
