import { writeSync } from 'node:fs'

const STDOUT = 1

/**
 * Writes lines to standard output, batched per turn of the event loop; remaining lines are written when the process
 * exits.
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
    if (waiting === '') setImmediate(flush)
    waiting += `${line}\n`
  }
}
