import { IcebergError } from '../../src/iceberg/errors.ts'

/** Fails one call of an operation, by its number; calls of writers do not count. */
export class Faults {
  #calls = 0
  #failing = Infinity
  #isPaused = true

  /** Runs work whose `failing`-th call fails; returns whether it had so many. */
  async run(
    failing: number,
    work: () => Promise<unknown>,
  ): Promise<{ readonly hit: boolean; readonly error: unknown }> {
    this.#calls = 0
    this.#failing = failing
    this.#isPaused = false
    let error: unknown
    try {
      await work()
    } catch (thrown) {
      error = thrown
    }
    this.#isPaused = true
    return { hit: this.#calls >= failing, error }
  }

  async pause(work: () => Promise<void>): Promise<void> {
    this.#isPaused = true
    await work()
    this.#isPaused = false
  }

  /** The same object, some of whose methods fail when it is their turn. */
  wrap<T extends object>(inner: T, methods: readonly string[]): T {
    return new Proxy(inner, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        return (...args: unknown[]): unknown => {
          if (methods.includes(String(name)) && this.#isNext()) {
            return Promise.reject(new IcebergError('IO_FAILED', `${String(name)} failed, as the test wanted`))
          }
          return Reflect.apply(value, target, args)
        }
      },
    })
  }

  #isNext(): boolean {
    if (this.#isPaused) return false
    this.#calls += 1
    return this.#calls === this.#failing
  }
}
