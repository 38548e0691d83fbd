import type { ModelRequest } from '../../model/chat-model.ts'
import { bullets } from '../text.ts'

/** The tools whose first example is suggested, as far as the caller may use them. */
const SUGGESTED = [
  'tables_needing_care',
  'get_schema',
  'query_table',
  'plan_compaction',
  'compact',
  'list_pipelines',
  'pending_approvals',
  'list_operations',
]

/** Examples of what the caller can ask, with a table that exists. */
export async function suggest({ tools, someTables }: Pick<ModelRequest, 'tools' | 'someTables'>): Promise<string> {
  const [table] = (await someTables()).filter((name) => /^[\p{L}\p{N}_.-]{1,100}$/u.test(name))
  const examples = SUGGESTED.flatMap((name) => tools.find((tool) => tool.name === name)?.examples[0] ?? [])
  const usable = examples.filter((example) => table !== undefined || !example.includes('{table}'))
  return bullets(usable.map((example) => example.replaceAll('{table}', table ?? '')))
}
