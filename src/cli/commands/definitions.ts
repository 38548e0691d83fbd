import { callCommand, listCommand } from '../api/api-command.ts'
import { endpointOf, filledPath, pathParameters } from '../endpoint.ts'
import { resolveIds } from '../api/parameters.ts'
import type { Call, Command } from '../command.ts'
import { jsonText } from '../text.ts'

/** What an exported document has besides the graph. */
const EXPORTED = ['format_version', 'name', 'description', 'version', 'exported_at']
const VERSION_FIELDS = [
  ['definition', 'definition.id'],
  ['name', 'definition.name'],
  ['version', 'version.version'],
  ['version id', 'version.id'],
  ['environment', 'version.environment'],
] as const
const PROBLEMS = ['severity', ['NODE', 'node_id'], 'code', 'message'] as const

const notRunnable = ({ runnable }: Readonly<Record<string, unknown>>): string | undefined =>
  runnable === true ? undefined : 'the graph cannot run'

/** Commands for definitions and their versions. */
export const definitionCommands: Readonly<Record<string, Command>> = {
  definitions: listCommand('listDefinitions', {
    columns: ['id', 'name', ['BY', 'created_by'], ['CREATED', 'created_at']],
    none: 'no definitions',
    examples: ['lockhouse definitions'],
  }),
  'definitions show': callCommand('getDefinition', {
    fields: [
      'id',
      'name',
      'description',
      'created_by',
      'created_at',
      ['development', 'latest_versions.development.version'],
      ['qa', 'latest_versions.qa.version'],
      ['uat', 'latest_versions.uat.version'],
      ['production', 'latest_versions.production.version'],
      ['retired', 'latest_versions.retired.version'],
    ],
    examples: ['lockhouse definitions show orders'],
  }),
  'definitions board': listCommand('getPipelineBoard', {
    columns: [
      'name',
      ['DEVELOPMENT', 'environments.development.newest.version'],
      ['QA', 'environments.qa.newest.version'],
      ['UAT', 'environments.uat.newest.version'],
      ['PRODUCTION', 'environments.production.newest.version'],
      ['REQUESTED', 'pending[].to_environment'],
    ],
    none: 'no definitions',
    examples: ['lockhouse definitions board'],
  }),
  'definitions create': callCommand('createDefinition', {
    summary: 'create a definition from a file: {"name", "nodes", "edges"}',
    file: 'required',
    ignores: EXPORTED.filter((name) => name !== 'name' && name !== 'description'),
    fields: VERSION_FIELDS,
    examples: ['lockhouse definitions create graph.json --name orders'],
  }),
  'definitions import': callCommand('importDefinition', {
    summary: 'create a definition from an exported file',
    file: 'required',
    fields: VERSION_FIELDS,
    examples: ['lockhouse definitions import orders.json --name orders-copy'],
  }),
  'definitions export': exportCommand(),
  'definitions edit': callCommand('updateDefinition', {
    examples: ['lockhouse definitions edit orders --description "Orders above 100"'],
  }),
  'definitions delete': callCommand('deleteDefinition', {
    confirm: 'Delete the definition {} with all its versions?',
    done: 'the definition {} is deleted',
    examples: ['lockhouse definitions delete orders --yes'],
  }),
  'definitions versions': listCommand('listVersions', {
    columns: [
      'version',
      'id',
      'environment',
      ['NODES', 'node_count'],
      ['EDGES', 'edge_count'],
      ['BY', 'created_by'],
      ['CREATED', 'created_at'],
    ],
    none: 'no versions',
    examples: ['lockhouse definitions versions orders'],
  }),
  'definitions version': callCommand('getVersion', {
    summary: 'show a version with its nodes and edges; without VERSION, the newest',
    optional: ['ver_id'],
    tables: { nodes: ['id', 'type', 'config'], edges: ['source', 'target'] },
    examples: ['lockhouse definitions version orders 1'],
  }),
  'definitions new-version': callCommand('createVersion', {
    summary: 'create the next version from a file with the graph, in development',
    file: 'required',
    ignores: EXPORTED,
    except: ['nodes', 'edges'],
    examples: ['lockhouse definitions new-version orders graph.json'],
  }),
  'definitions diff': callCommand('diffVersions', {
    summary: 'show the differences between two versions; canvas moves are listed separately',
    tables: {
      'nodes.added': ['id', 'type', 'config'],
      'nodes.removed': ['id', 'type', 'config'],
      'nodes.changed': ['id', 'changes'],
      'edges.added': ['id', 'source', 'target'],
      'edges.removed': ['id', 'source', 'target'],
      'edges.changed': ['id', 'changes'],
      moves: ['id', 'from', 'to'],
    },
    examples: ['lockhouse definitions diff orders 1 2'],
  }),
  'definitions validate': callCommand('validateVersion', {
    summary: 'check a version against the current tables; ends with 1 when it cannot run. Without VERSION, the newest',
    optional: ['ver_id'],
    tables: { problems: PROBLEMS, sink_columns: ['name', 'type'] },
    fails: notRunnable,
    examples: [
      'lockhouse definitions validate orders',
      'lockhouse definitions validate orders 1 --environment production',
    ],
  }),
  'definitions validate-file': callCommand('validateGraph', {
    summary: 'check the graph of a file against the current tables; ends with 1 when it cannot run',
    file: 'required',
    ignores: EXPORTED,
    tables: { problems: PROBLEMS, sink_columns: ['name', 'type'] },
    fails: notRunnable,
    examples: ['lockhouse definitions validate-file graph.json --environment qa'],
  }),
  'definitions create-sink': callCommand('createSinkTable', {
    summary: 'create the sink table of a version from the columns of its graph; without VERSION, of the newest',
    optional: ['ver_id'],
    tables: { columns: ['name', 'type'] },
    examples: ['lockhouse definitions create-sink orders'],
  }),
  'definitions promote': callCommand('promoteVersion', {
    next: ({ id, status, opens_at: at }) => {
      if (status === 'pending') return `a lead has to approve it: lockhouse approvals approve ${String(id)}`
      return status === 'waiting_for_window' ? `it moves when the window opens, at ${String(at)}` : undefined
    },
    except: ['nodes', 'edges'],
    examples: ['lockhouse definitions promote orders 1'],
  }),
  'definitions demote': callCommand('demoteVersion', {
    except: ['nodes', 'edges'],
    examples: ['lockhouse definitions demote orders 1'],
  }),
  'definitions retire': callCommand('retireVersion', {
    except: ['nodes', 'edges'],
    confirm: 'Retire this version of {}? It never runs again.',
    examples: ['lockhouse definitions retire orders 1 --yes'],
  }),
  'definitions node-types': callCommand('listNodeTypes', {
    summary: 'show the node types that a graph may have',
    tables: { node_types: ['type', 'title', 'description'] },
    examples: ['lockhouse definitions node-types'],
  }),
}

/** The document itself goes to standard output, as an import reads it. */
function exportCommand(): Command {
  const { path } = endpointOf('exportVersion')
  return {
    summary: 'print a version as a document that can be imported; without VERSION, the newest',
    names: ['DEFINITION', '[VERSION]'],
    options: { json: { help: 'on one line' } },
    examples: ['lockhouse definitions export orders > orders.json', 'lockhouse definitions export orders 1'],
    endpoints: ['exportVersion'],
    async run(call: Call) {
      const ids = await resolveIds(call, pathParameters(path), call.names)
      const document = await call.api.get(filledPath(path, ids))
      call.terminal.out(jsonText(document, call.isSet('json') ? undefined : 2))
    },
  }
}
