/** Row groups of a file cannot be copied, or not without a guess; its rows can still be rewritten. */
export class NotCopyableError extends Error {}

/** Names the file in a {@link NotCopyableError} that reading the file throws. */
export async function namingFile<T>(location: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw error instanceof NotCopyableError ? new NotCopyableError(`${location}: ${error.message}`) : error
  }
}
