import type { z } from 'zod'
import type { monitorMessage } from '../schemas/monitor.ts'
import type { pipeline } from '../schemas/pipelines.ts'
import { endpointOf } from './endpoint.ts'
import type { Call } from './command.ts'
import { CommandError } from './errors.ts'
import { durationText, jsonText, plainText } from './text.ts'

type Pipeline = z.infer<typeof pipeline>
type MonitorMessage = z.infer<typeof monitorMessage>

/** The subprotocols of the monitor, one of which has the token (docs/api.md#identity). */
const PROTOCOL = 'lockhouse.v1'
const BEARER = 'bearer.'

/** Prints what the monitor sends, until the connection ends, which is an error. */
export async function watchPipelines(call: Call, pipelineId: string | undefined): Promise<never> {
  const { api, terminal, isSet } = call
  const query = pipelineId === undefined ? '' : `?pipeline_id=${encodeURIComponent(pipelineId)}`
  const url = new URL(`${api.server}${endpointOf('monitorPipelines').path}${query}`.replace(/^http/, 'ws'))
  // a refusal of the handshake has no reason that a client can read: ask in the ordinary way first
  await api.get('/api/pipelines', { page_size: '1' })
  const protocols = [PROTOCOL, ...(api.token === undefined ? [] : [`${BEARER}${api.token}`])]
  const socket = new WebSocket(url, protocols)
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as MonitorMessage
    if (isSet('json')) terminal.out(jsonText(message))
    else for (const line of linesOf(message)) terminal.out(line)
  })
  const closed = await new Promise<{ readonly code: number; readonly reason: string }>((resolve) => {
    socket.addEventListener('close', resolve)
  })
  const reason = closed.reason === '' ? '' : `: ${closed.reason}`
  throw new CommandError(`the monitor ended with ${closed.code}${reason}`)
}

function linesOf(message: MonitorMessage): readonly string[] {
  switch (message.type) {
    case 'hello':
      return message.pipelines.length === 0 ? ['no pipelines'] : message.pipelines.map((one) => stateLine(one))
    case 'state':
      return [stateLine(message.pipeline)]
    case 'progress': {
      const { pipeline_id: id, progress } = message
      const lagSeconds = Math.max(0, ...progress.sources.map(({ lag }) => lag.seconds))
      const rows = `${progress.num_input_rows} rows read, ${writtenText(progress.sink)}`
      const time = `in ${durationText(progress.batch_duration_ms)}, lag ${durationText(lagSeconds * 1000)}`
      return [`${progress.timestamp}  ${plainText(id)}  batch ${progress.batch_id}: ${rows} ${time}`]
    }
    default:
      return []
  }
}

/** The rows of a batch in the sink; apart only where some replaced others or were deleted. */
function writtenText({
  num_output_rows: written,
  num_inserted_rows: inserted = written,
  num_updated_rows: updated = 0,
  num_deleted_rows: deleted = 0,
}: NonNullable<Pipeline['last_progress']>['sink']): string {
  if (updated === 0 && deleted === 0) return `${written} written`
  return `${inserted} inserted, ${updated} updated, ${deleted} deleted`
}

function stateLine({ id, state, source_tables: from, sink_table: to, error }: Pipeline): string {
  const problem = error === null ? '' : ` (${error.code}: ${error.message})`
  return plainText(`${new Date().toISOString()}  ${id}  ${state}: ${from.join(', ')} to ${to}${problem}`)
}
