import { plural } from '../../../lib/text.ts'
import { type Ability, callsTool, type SeenCall } from '../ability.ts'
import { readDefinition, readNamedEnvironment, readTwoVersions, readVersion } from '../names/definition-finder.ts'
import type { JsonView } from '../json-view.ts'
import { bullets, moment, problem, quoted } from '../text.ts'

function describeApprovals({ data, error }: SeenCall): string {
  if (error !== undefined) return `I cannot read the approval requests: ${problem(error)}`
  const total = data.at('count').number()
  if (total === 0) return 'Nothing is waiting for approval.'
  const head = `${plural(total, 'approval request')} ${total === 1 ? 'is' : 'are'} waiting for a decision:`
  return `${head}\n\n${bullets(data.at('requests').list().map(describeRequest))}`
}

function describeRequest(request: JsonView): string {
  const name = quoted(request.at('definition_name').text())
  const move = `${request.at('from_environment').text()} to ${request.at('to_environment').text()}`
  const who = `requested by ${quoted(request.at('requested_by').text())} on ${moment(request.at('requested_at').text())}`
  return `Version ${request.at('version').text()} of ${name}, from ${move}, ${who} (${request.at('id').text()})`
}

function describeDefinitions({ data, error, truncated, args }: SeenCall): string {
  if (error !== undefined) return `I cannot read the pipeline definitions: ${problem(error)}`
  const definitions = data.at('definitions').list()
  const environment = args.at('environment')
  const where = environment.exists ? ` with a version in ${environment.text()}` : ''
  if (definitions.length === 0) return `There are no pipeline definitions${where}.`
  const head = `${truncated ? 'The newest ' : ''}${plural(definitions.length, 'pipeline definition')}${where}:`
  const lines = definitions.map((one) => {
    const description = one.at('description').text()
    return `${quoted(one.at('name').text())} (${one.at('id').text()}), by ${quoted(one.at('created_by').text())}${description === '' ? '' : `: ${quoted(description)}`}`
  })
  return `${head}\n\n${bullets(lines)}`
}

function describeVersions({ data, error, args }: SeenCall): string {
  const id = quoted(args.at('definition_id').text())
  if (error !== undefined) return `I cannot read the versions of ${id}: ${problem(error)}`
  const versions = data.at('versions').list()
  return `${id} has ${plural(versions.length, 'version')}, newest first:\n\n${bullets(versions.map(describeVersion))}`
}

function describeVersion(version: JsonView): string {
  const size = `${plural(version.at('node_count').number(), 'node')}, ${plural(version.at('edge_count').number(), 'edge')}`
  const who = `by ${quoted(version.at('created_by').text())} on ${moment(version.at('created_at').text())}`
  return `Version ${version.at('version').text()} in ${version.at('environment').text()}: ${size}, ${who} (${version.at('id').text()})`
}

function describeGraph({ data, error }: SeenCall): string {
  if (error !== undefined) return `I cannot read the version: ${problem(error)}`
  const nodes = data
    .at('nodes')
    .list()
    .map((node) => `node ${quoted(node.at('id').text())} of type ${quoted(node.at('type').text())}`)
  const edges = data
    .at('edges')
    .list()
    .map((edge) => `edge from ${quoted(edge.at('source').text())} to ${quoted(edge.at('target').text())}`)
  return `${describeVersion(data)}\n\n${bullets([...nodes, ...edges], 30)}`
}

function describeDiff({ data, error }: SeenCall): string {
  if (error !== undefined) return `I cannot compare the versions: ${problem(error)}`
  const lines = (['nodes', 'edges'] as const).flatMap((part) =>
    (['added', 'removed', 'changed'] as const).flatMap((kind) => {
      const list = data.at(part).at(kind).list()
      const names = list.map((one) => quoted(one.at('id').text()))
      return names.length === 0 ? [] : [`${kind} ${part}: ${names.join(', ')}`]
    }),
  )
  const versions = `version ${data.at('from').at('version').text()} and version ${data.at('to').at('version').text()}`
  return lines.length === 0 ? `Nodes and edges of ${versions} are equal.` : `Between ${versions}:\n\n${bullets(lines)}`
}

function describeEnvironments({ data, error }: SeenCall): string {
  if (error !== undefined) return `I cannot read the environments: ${problem(error)}`
  const lines = data
    .at('environments')
    .list()
    .map((one) => {
      const parameters = one.at('parameters').names()
      const writes = one.at('writes').texts().map(quoted).join(', ')
      const set = parameters.length === 0 ? 'no parameters' : `parameters ${parameters.map(quoted).join(', ')}`
      const mode = one.at('deploy').text().replaceAll('_', ' ')
      return `${one.at('environment').text()}: ${set}${mode === '' ? '' : `, deploys ${mode}`}${writes === '' ? '' : `, may write ${writes}`}`
    })
  return `There are ${plural(lines.length, 'environment')}:\n\n${bullets(lines)}`
}

/** Answers about definitions, versions, environments and approvals, by tool. */
export const definitionAbilities: Readonly<Record<string, Ability>> = {
  list_definitions: callsTool({
    tool: 'list_definitions',
    reads: [readNamedEnvironment],
    describe: describeDefinitions,
  }),
  list_versions: callsTool({ tool: 'list_versions', reads: [readDefinition], describe: describeVersions }),
  get_version: callsTool({ tool: 'get_version', reads: [readDefinition, readVersion], describe: describeGraph }),
  diff_versions: callsTool({ tool: 'diff_versions', reads: [readDefinition, readTwoVersions], describe: describeDiff }),
  list_environments: callsTool({ tool: 'list_environments', reads: [], describe: describeEnvironments }),
  pending_approvals: callsTool({ tool: 'pending_approvals', reads: [], describe: describeApprovals }),
}
