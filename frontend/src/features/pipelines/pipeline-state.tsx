import type { Pipeline } from '../../api/types.ts'
import { StatusDot, type StatusTone } from '../../components/status/status-dot.tsx'
import { pipelines as words } from '../../strings/pipelines/pipelines.ts'

const TONES: Readonly<Record<Pipeline['state'], StatusTone>> = {
  starting: 'active',
  running: 'ok',
  degraded: 'warn',
  stopping: 'active',
  stopped: 'idle',
  failed: 'bad',
}

/** The state of a pipeline as a dot and its name, with an explanation in the tooltip. */
export function PipelineState({ state }: { readonly state: Pipeline['state'] }) {
  return (
    <span title={words.stateHelp[state]}>
      <StatusDot tone={TONES[state]} label={words.states[state]} />
    </span>
  )
}
