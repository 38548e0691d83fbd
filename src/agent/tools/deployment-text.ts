import type { DeploymentAnswer, DeploymentPlanView } from '../../services/deployments/deployment-views.ts'
import { visible } from './plan-text.ts'

/** Describes what a change of a deployment would do, in sentences; undefined when problems prevent it. */
export function describeDeployment({ plan, definition_id: id, environment }: DeploymentAnswer): string | undefined {
  if (plan === undefined || plan.problems.length > 0) return undefined
  const sentences = [
    actionText(plan, `${id} in ${environment}`),
    runsText(plan),
    ...wouldRunText(plan),
    ...plan.consequences.map((text) => `Consequence: ${text}`),
  ]
  return visible(sentences.join('. '))
}

/** Describes what keeps a version from running, with node and parameter. */
export function describeProblems({ plan, definition_id: id, environment }: DeploymentAnswer): string {
  const problems = (plan?.problems ?? []).map(({ node_id: node, parameter, message }) => {
    const where = [
      ...(node === null ? [] : [`node ${node}`]),
      ...(parameter === null ? [] : [`parameter ${parameter}`]),
    ]
    return [...where, message].join(': ')
  })
  return visible(`${id} cannot be changed in ${environment}; nothing was stopped. Problems: ${problems.join('; ')}`)
}

const VERBS = { deploy: 'Deploy', undeploy: 'Undeploy', rollback: 'Roll back' } as const

function actionText({ action, would_run: next }: DeploymentPlanView, place: string): string {
  const verb = VERBS[action]
  return next === null ? `${verb} ${place}` : `${verb} ${place} to version ${next.version} (${next.version_id})`
}

function runsText({ runs }: DeploymentPlanView): string {
  if (runs === null) return 'Nothing runs there now'
  const version = runs.version === null ? '' : ` with version ${runs.version}`
  const what = `pipeline ${runs.pipeline_id}${version} from ${runs.source_tables.join(', ')} into ${runs.sink_table}`
  const isLive = runs.state !== 'stopped' && runs.state !== 'failed'
  return isLive ? `Now ${what} is ${runs.state}; it stops after its batch` : `Now ${what} is ${runs.state}`
}

function wouldRunText({ would_run: next, sources }: DeploymentPlanView): readonly string[] {
  if (next === null) return ['Afterwards nothing runs there']
  const starts = sources.map(
    ({ table, starts: how }) => `${table} ${how === 'continues' ? 'continues' : 'starts from the beginning'}`,
  )
  return [
    `Afterwards version ${next.version} runs from ${next.source_tables.join(', ')} into ${next.sink_table} every ${next.trigger_interval} with the ${next.checkpoint} checkpoint: ${starts.join(', ')}`,
  ]
}
