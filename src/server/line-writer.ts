import { writeSync } from 'node:fs'

const STDOUT = 1
const BATCH_MS = 5

/**
 * Writes lines to standard output, those of a few milliseconds together: under load, a write of its own for each would
 * take longer than making it. Remaining lines are written when the process exits.
 */
export function createLineWriter(): (line: string) => void {
  let waiting = ''
  const flush = (): void => {
    const text = waiting
    waiting = ''
    if (text !== '') process.stdout.write(text)
  }
  process.on('exit', () => {
    if (waiting !== '') writeSync(STDOUT, waiting)
  })
  return (line) => {
    if (waiting === '') setTimeout(flush, BATCH_MS)
    waiting += `${line}\n`
  }
}
