import { lastOf, type Next, type Reader } from '../ability.ts'
import type { JsonView } from '../json-view.ts'
import { bullets, problem, quoted } from '../text.ts'
import type { Question } from '../question.ts'
import { WHICH } from './follow-up.ts'
import { namedIn } from './table-finder.ts'

/** Reads `pipeline_id`: an id, the pipeline of the named tables, the earlier one, or the only one. */
export const readPipeline: Reader = (question, seen) => {
  const id = question.tokens.find(({ slot }) => slot === '{pipeline}')?.lower
  if (id !== undefined) return { args: { pipeline_id: id } }
  const isNaming = question.tables.length > 0 || question.unknownWords.length > 0
  if (!isNaming && question.earlier.pipeline !== undefined) return { args: { pipeline_id: question.earlier.pipeline } }
  const listed = lastOf(seen, 'list_pipelines')
  if (listed === undefined) return { next: { calls: [{ tool: 'list_pipelines', args: {} }] } }
  if (listed.error !== undefined) return { next: { say: `I cannot list the pipelines: ${problem(listed.error)}` } }
  const all = listed.data.at('pipelines').list()
  const [only, ...others] = isNaming ? pipelinesOf(question, all) : all
  if (only !== undefined && others.length === 0) return { args: { pipeline_id: only.at('id').text() } }
  return { next: askPipeline(only === undefined ? all : [only, ...others]) }
}

/** Pipelines with a named table: those that write it before those that read it. */
function pipelinesOf({ tables, lower }: Question, all: readonly JsonView[]): readonly JsonView[] {
  const isNamed = (name: string): boolean => tables.includes(name) || namedIn(lower, [name]).length > 0
  const sinks = all.filter((one) => isNamed(one.at('sink_table').text()))
  return sinks.length > 0 ? sinks : all.filter((one) => one.at('source_tables').texts().some(isNamed))
}

function askPipeline(candidates: readonly JsonView[]): Next {
  if (candidates.length === 0) return { say: 'There are no streaming pipelines.' }
  const lines = candidates.map((one) => {
    const sources = one.at('source_tables').texts().map(quoted).join(', ')
    return `${quoted(one.at('id').text())} from ${sources} into ${quoted(one.at('sink_table').text())}`
  })
  return { say: `${WHICH} pipeline do you mean? These exist:\n\n${bullets(lines)}` }
}
