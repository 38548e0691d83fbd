import { z } from 'zod'
import { ENVIRONMENTS } from '../../domain/environments.ts'
import { pageToken } from './paging.ts'
import { type AgentTool, readTool } from './tool.ts'

const PAGE = 50

const definitionId = z.string().min(1).max(200).describe('Such as def-…, from list_definitions')
const versionId = z.string().min(1).max(200).describe('Such as ver-…, from list_versions')

/** Tools that read pipeline definitions, their versions, environments and pending approval requests. */
export const definitionTools: readonly AgentTool[] = [
  readTool({
    name: 'list_definitions',
    reach: 'filtered',
    title: 'List pipeline definitions',
    description: 'Lists pipeline definitions, newest first; optionally only those with a version in one environment.',
    examples: [
      'Which pipeline definitions are there?',
      'What is in {environment}?',
      'List all definitions',
      'Which definitions are in {environment}?',
      'Show everything in {environment}',
    ],
    minRole: 'Auditor',
    input: z.strictObject({ environment: z.enum(ENVIRONMENTS).optional(), page_token: pageToken }),
    async run({ environment, page_token }, { caller, services }) {
      const page = await services.definitions.list(environment, { page_size: PAGE, page_token }, caller)
      return { definitions: page.items, next_page_token: page.next_page_token }
    },
  }),
  readTool({
    name: 'list_versions',
    reach: 'objects',
    title: 'List versions',
    description: 'Lists the versions of a pipeline definition, newest first, with the environment of each.',
    examples: [
      'Which versions does {definition} have?',
      'List the versions of {definition}',
      'How many versions does {definition} have?',
      'In which environment are the versions of {definition}?',
    ],
    minRole: 'Auditor',
    input: z.strictObject({ definition_id: definitionId, page_token: pageToken }),
    async run({ definition_id, page_token }, { services }) {
      const page = await services.versions.list(definition_id, { page_size: PAGE, page_token })
      return { versions: page.items, next_page_token: page.next_page_token }
    },
  }),
  readTool({
    name: 'get_version',
    reach: 'objects',
    title: 'Get a version',
    description: 'Returns one version of a pipeline definition with its nodes and edges.',
    examples: [
      'Show version {count} of {definition}',
      'What is in version {count} of {definition}?',
      'Details of version {count} of {definition}',
      'Show the newest version of {definition}',
      'Open version {count} of {definition}',
      'Which nodes does version {count} of {definition} have?',
    ],
    minRole: 'Auditor',
    input: z.strictObject({ definition_id: definitionId, version_id: versionId }),
    run: ({ definition_id, version_id }, { services }) => services.versions.get(definition_id, version_id),
  }),
  readTool({
    name: 'diff_versions',
    reach: 'objects',
    title: 'Compare versions',
    description: 'Compares two versions of a definition: nodes and edges that were added, removed and changed.',
    examples: [
      'Compare version {count} and version {count} of {definition}',
      'What changed between version {count} and version {count} of {definition}?',
      'What is the difference between versions of {definition}?',
      'Compare the versions of {definition}',
    ],
    minRole: 'Auditor',
    input: z.strictObject({ definition_id: definitionId, from_version_id: versionId, to_version_id: versionId }),
    run: (args, { services }) => services.versions.diff(args.definition_id, args.from_version_id, args.to_version_id),
  }),
  readTool({
    name: 'list_environments',
    title: 'List environments',
    description:
      'Lists the environments in which versions run: parameters (secrets as env:NAME), tables that versions may write, ' +
      'deploy mode and defaults.',
    examples: [
      'Which environments are there?',
      'How are the environments configured?',
      'Show the settings of the environments',
      'Which parameters does the environment {environment} have?',
    ],
    minRole: 'Auditor',
    input: z.strictObject({}),
    run: async (_, { services }) => ({ environments: await services.environments.list() }),
  }),
  readTool({
    name: 'pending_approvals',
    title: 'Pending approvals',
    description: 'Lists the approval requests that are waiting for a decision, newest first, and their number.',
    examples: [
      'What is waiting for approval?',
      'Pending approvals',
      'What do I have to approve?',
      'Show open approval requests',
      'Is anything waiting for my decision?',
    ],
    minRole: 'LeadDataEngineer',
    input: z.strictObject({ page_token: pageToken }),
    async run({ page_token }, { services }) {
      const { count, items, next_page_token } = await services.approvals.pending({ page_size: PAGE, page_token })
      return { count, requests: items, next_page_token }
    },
  }),
]
