/** A command line that is not understood; the process ends with 2. */
export class UsageError extends Error {}

/** The work was not done; the process ends with 1. The message is one line. */
export class CommandError extends Error {
  /** The code of the service (docs/api.md#errors); undefined for a problem on this machine. */
  readonly code: string | undefined

  constructor(message: string, code?: string) {
    super(message)
    this.code = code
  }
}

/** Throws {@link UsageError} when there is an argument that nothing reads. */
export function requireNone([first]: readonly string[]): void {
  if (first !== undefined) throw new UsageError(`unexpected argument ${first}`)
}
