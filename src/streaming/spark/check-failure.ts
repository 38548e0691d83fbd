import { PipelineStopped } from '../pipeline-errors.ts'

/** Before the names in the text of an error that a failed check raises in Spark. */
const MARK = 'lockhouse check failed: '
const RAISED = new RegExp(`${MARK}(\\[".*?"\\]) end of check`)

/** The text of the error that Spark raises for a row that fails an expectation. */
export function checkFailureText(nodeId: string, expectation: string): string {
  return `${MARK}${JSON.stringify([nodeId, expectation])} end of check`
}

/** The end of a pipeline whose query failed with a message; undefined unless a check raised the error. */
export function checkFailureOf(message: string): PipelineStopped | undefined {
  const names = RAISED.exec(message)?.[1]
  if (names === undefined) return undefined
  return new PipelineStopped(
    'CHECK_FAILED',
    `${describe(names)}. Nothing of the batch was committed. Spark does not count these rows; the embedded engine does`,
  )
}

function describe(names: string): string {
  try {
    const [nodeId, name] = JSON.parse(names) as readonly unknown[]
    return `node ${String(nodeId)}: a row of the batch fails "${String(name)}"`
  } catch {
    return `a row of the batch fails a check: ${names}`
  }
}
