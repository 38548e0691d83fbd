import type { Readable } from 'node:stream'

/** Keeps the last part of what a child process printed, for error messages. */
export class OutputTail {
  #text = ''

  constructor(...streams: readonly Readable[]) {
    for (const stream of streams) {
      stream.setEncoding('utf8')
      stream.on('data', (chunk: string) => {
        this.#text = (this.#text + chunk).slice(-8000)
      })
    }
  }

  get text(): string {
    return this.#text
  }
}
