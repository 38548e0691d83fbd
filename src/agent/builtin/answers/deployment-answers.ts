import { plural } from '../../../lib/text.ts'
import { type Ability, callsTool, type Reader, type SeenCall } from '../ability.ts'
import { readDefinition, readEnvironment, readNamedEnvironment } from '../names/definition-finder.ts'
import type { JsonView } from '../json-view.ts'
import { describeProposal } from './maintenance-answers.ts'
import { bullets, oneLine, problem, quoted } from '../text.ts'

const readAction: Reader = (question) => {
  if (question.has('undeploy')) return { args: { action: 'undeploy' } }
  return { args: question.has('rollback', 'roll') ? { action: 'rollback' } : {} }
}

function describeDeployments({ data, error, truncated, args }: SeenCall): string {
  if (error !== undefined) return `I cannot read the deployments: ${problem(error)}`
  const deployments = data.at('deployments').list()
  const where = args.at('environment').exists ? ` in ${args.at('environment').text()}` : ''
  if (deployments.length === 0) return `There are no deployments${where}.`
  const head = `${truncated ? 'The first ' : ''}${plural(deployments.length, 'deployment')}${where}:`
  return `${head}\n\n${bullets(deployments.map(describeDeployment))}`
}

function describeDeployment(deployment: JsonView): string {
  const running = deployment.at('running_version_id')
  const what = running.exists ? `runs version ${quoted(running.text())}` : 'runs nothing'
  const reason = deployment.at('reason').exists ? `: ${oneLine(deployment.at('reason').text())}` : ''
  const state = deployment.at('state').text().replaceAll('_', ' ')
  return `${quoted(deployment.at('definition_id').text())} in ${deployment.at('environment').text()} ${what} (${state}${reason})`
}

function describePlan({ data, error }: SeenCall): string {
  if (error !== undefined) return `I cannot plan that: ${problem(error)}`
  return `${oneLine(data.at('summary').text())}. Nothing has been changed.`
}

function proposes(tool: string): Ability {
  return callsTool({
    tool,
    reads: [readDefinition, readEnvironment],
    describe: (result) => describeProposal(result.args.at('definition_id').text(), result),
  })
}

/** Answers about deployments, by tool. */
export const deploymentAbilities: Readonly<Record<string, Ability>> = {
  list_deployments: callsTool({
    tool: 'list_deployments',
    reads: [readNamedEnvironment],
    describe: describeDeployments,
  }),
  plan_deployment: callsTool({
    tool: 'plan_deployment',
    reads: [readDefinition, readEnvironment, readAction],
    describe: describePlan,
  }),
  deploy_pipeline: proposes('deploy_pipeline'),
  undeploy_pipeline: proposes('undeploy_pipeline'),
  rollback_deployment: proposes('rollback_deployment'),
}
