import type { Operation } from '../schemas/tables/operations.ts'
import type { Call, Terminal } from './command.ts'
import { CommandError } from './errors.ts'
import { durationText, sizeText } from './text.ts'

const BAR_WIDTH = 24
const CLEAR_LINE = '\r\u001b[K'

/** Waits for an operation, showing its progress on a terminal. Throws {@link CommandError} when it does not succeed. */
export async function followOperation({ api, terminal, isDirect, isSet }: Call, id: string): Promise<Operation> {
  const startedMs = terminal.nowMs()
  const interrupted = isDirect
    ? 'an interruption of this command cancels the operation'
    : 'the operation continues when this command is interrupted'
  if (!isSet('json')) terminal.note(`operation ${id} has started; ${interrupted}`)
  const path = `/api/operations/${id}`
  for await (const event of api.events(`${path}/events`)) showProgress(terminal, event as Operation, startedMs)
  if (terminal.isLive) terminal.note(CLEAR_LINE)
  const operation = await api.get<Operation>(path)
  if (operation.state === 'succeeded') return operation
  const reason = operation.error === null ? '' : `: ${operation.error.message}`
  const state = operation.state === 'failed' ? 'failed' : `is ${operation.state}`
  throw new CommandError(`operation ${id} ${state}${reason}`, operation.error?.code)
}

function showProgress(terminal: Terminal, { progress, state }: Operation, startedMs: number): void {
  if (!terminal.isLive || progress === null || state !== 'running') return
  terminal.note(CLEAR_LINE + progressText(progress, terminal.nowMs() - startedMs))
}

/** A line such as `[####----] 120 of 240 files, 1.2 MiB of 2.6 MiB, about 3 s left`. */
export function progressText(progress: NonNullable<Operation['progress']>, elapsedMs: number): string {
  const { files_done: files, files_total: allFiles, bytes_done: bytes, bytes_total: allBytes } = progress
  const share = allBytes === 0 ? 0 : Math.min(1, bytes / allBytes)
  const filled = Math.round(share * BAR_WIDTH)
  const left = share === 0 ? '' : `, about ${durationText((elapsedMs * (1 - share)) / share)} left`
  const bar = '#'.repeat(filled) + '-'.repeat(BAR_WIDTH - filled)
  return `[${bar}] ${files} of ${allFiles} files, ${sizeText(bytes)} of ${sizeText(allBytes)}${left}`
}
