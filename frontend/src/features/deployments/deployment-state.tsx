import type { Deployment } from '../../api/types.ts'
import { StatusDot, type StatusTone } from '../../components/status/status-dot.tsx'
import { deploymentStrings as words } from '../../strings/deployments.ts'

const TONES: Readonly<Record<Deployment['state'], StatusTone>> = {
  none: 'idle',
  out_of_date: 'warn',
  waiting_for_window: 'warn',
  rolling_out: 'active',
  in_sync: 'ok',
  rolled_back: 'warn',
  failed: 'bad',
}

/** The state of a deployment as a dot and its name. */
export function DeploymentState({ state }: Pick<Deployment, 'state'>) {
  return <StatusDot tone={TONES[state]} label={words.states[state]} />
}
