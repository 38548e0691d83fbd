import { count, plural } from '../../../lib/text.ts'
import { type Ability, callsTool, lastOf, type SeenCall } from '../ability.ts'
import { intervalNamed } from '../language/tokens.ts'
import { readPipeline } from '../names/pipeline-finder.ts'
import type { Question } from '../question.ts'
import type { JsonView } from '../json-view.ts'
import { describeProposal } from './maintenance-answers.ts'
import { bullets, duration, moment, problem, quoted } from '../text.ts'

/** Proposes to start a pipeline. */
const startAbility: Ability = {
  next(question, seen) {
    const { tokens, tables } = question
    const modes = modesNamed(question)
    const interval = intervalNamed(tokens)
    const location = tokens[tokens.findIndex(({ lower }) => lower.startsWith('checkpoint') && !lower.includes('/')) + 1]
    const checkpoint = tokens.find(({ slot }) => slot === '{checkpoint}')?.raw ?? location?.raw
    const [source, sink] = tables.filter((table) => table !== checkpoint)
    if (modes === 'no key') return { say: KEY_NEEDED }
    if (source === undefined || sink === undefined || interval === undefined || checkpoint === undefined) {
      return {
        say: 'To start a pipeline I need two tables, an interval and a checkpoint, such as: "start a pipeline from demo.events to demo.copy every 5 seconds with checkpoint checkpoints/events".',
      }
    }
    const result = lastOf(seen, 'start_pipeline')
    const place = { trigger_interval: interval, checkpoint_location: checkpoint }
    const args = { source_table: source, sink_table: sink, ...place, ...modes }
    return result ? { say: describeProposal(source, result) } : { calls: [{ tool: 'start_pipeline', args }] }
  },
}

const KEY_NEEDED =
  'To mirror or upsert I need the columns that identify a row, such as: "mirror demo.orders into demo.copy by order_id every 5 seconds with checkpoint checkpoints/copy".'

interface Modes {
  readonly read?: 'changes'
  readonly write?: 'upsert' | 'mirror'
  readonly key?: readonly string[]
}

/** What an order says about keys: `mirror … by id`, `upsert … by region, id`. */
function modesNamed({ tokens, has }: Question): Modes | 'no key' {
  if (!has('mirror', 'upsert')) return {}
  const at = tokens.findLastIndex(({ lower }) => lower === 'by')
  const after = at < 0 ? [] : tokens.slice(at + 1)
  const end = after.findIndex(({ lower, slot }) => AFTER_KEY.has(lower) || slot === '{checkpoint}')
  const names = after.slice(0, end < 0 ? undefined : end).filter(({ lower }) => !BETWEEN_NAMES.has(lower))
  if (names.length === 0) return 'no key'
  const key = names.map(({ raw }) => raw)
  return has('mirror') ? { read: 'changes', write: 'mirror', key } : { write: 'upsert', key }
}

const AFTER_KEY = new Set('every with using checkpoint from into to in on'.split(' '))
const BETWEEN_NAMES = new Set('and the its key keys column columns primary'.split(' '))

function describeStatus({ data, error, args }: SeenCall): string {
  if (error !== undefined) return `I cannot read ${quoted(args.at('pipeline_id').text())}: ${problem(error)}`
  const sources = data
    .at('last_progress')
    .at('sources')
    .list()
    .map((source) => source.at('lag'))
  return describePipeline(data, sources)
}

interface Shown {
  readonly view: JsonView
  readonly lags: readonly JsonView[]
  readonly rows: number
}

function describePipelines({ data, error, truncated }: SeenCall, question: Question): string {
  if (error !== undefined) return `I cannot read the pipelines: ${problem(error)}`
  const all = data
    .at('pipelines')
    .list()
    .map((view): Shown => {
      const lags = view.at('lag').list()
      return { view, lags, rows: lags.reduce((sum, lag) => sum + lag.at('rows').number(), 0) }
    })
  if (all.length === 0) return 'There are no streaming pipelines.'
  const states = Map.groupBy(all, ({ view }) => view.at('state').text())
  const summary = [...states].map(([state, shown]) => `${count(shown.length)} ${state}`).join(', ')
  const head = `${truncated ? 'Of the newest ' : 'There '}${truncated ? '' : all.length === 1 ? 'is ' : 'are '}${plural(all.length, 'pipeline')}: ${summary}.`
  const { shown, none } = selection(all, question)
  if (shown.length === 0) return `${head} ${none}`
  return `${head}\n\n${bullets(shown.map(({ view, lags }) => describePipeline(view, lags)))}`
}

function selection(
  all: readonly Shown[],
  question: Question,
): { readonly shown: readonly Shown[]; readonly none: string } {
  const inState = (...names: readonly string[]) => all.filter(({ view }) => names.includes(view.at('state').text()))
  if (question.has('lag')) {
    const behind = all.filter(({ rows, lags }) => rows > 0 || lags.some((lag) => lag.at('snapshots').number() > 0))
    return { shown: behind.toSorted((a, b) => b.rows - a.rows), none: 'None of them is behind its source.' }
  }
  if (question.has('fail', 'problem', 'degraded')) {
    return { shown: inState('failed', 'degraded'), none: 'None of them has failed or is degraded.' }
  }
  if (question.has('stopped', 'idle')) return { shown: inState('stopped'), none: 'None of them is stopped.' }
  if (question.has('run', 'active', 'live')) {
    return { shown: inState('running', 'starting', 'degraded'), none: 'None of them is running.' }
  }
  return { shown: all, none: '' }
}

function describePipeline(view: JsonView, lags: readonly JsonView[]): string {
  const sources = view.at('source_tables').texts().map(quoted).join(', ')
  const state = view.at('state').text()
  const error = view.at('error').exists ? ` because of ${problem(view.at('error'))}` : ''
  const behind = lags.map(describeLag).filter((text) => text !== '')
  const started = view.at('started_at').text()
  const since = started === '' ? '' : `, started ${moment(started)}`
  const lag =
    behind.length > 0 ? `; it is behind by ${behind.join(' and ')}` : lags.length > 0 ? '; it is not behind' : ''
  return `${quoted(view.at('id').text())} from ${sources} into ${quoted(view.at('sink_table').text())} is ${state}${error}${since}${lag}.`
}

function describeLag(lag: JsonView): string {
  const rows = lag.at('rows').number()
  const snapshots = lag.at('snapshots').number()
  if (rows === 0 && snapshots === 0) return ''
  return `${plural(rows, 'row')} in ${plural(snapshots, 'snapshot')} (${duration(lag.at('seconds').number() * 1000)})`
}

/** Answers about streaming pipelines, by tool. */
export const pipelineAbilities: Readonly<Record<string, Ability>> = {
  list_pipelines: callsTool({ tool: 'list_pipelines', reads: [], describe: describePipelines }),
  pipeline_status: callsTool({ tool: 'pipeline_status', reads: [readPipeline], describe: describeStatus }),
  start_pipeline: startAbility,
  stop_pipeline: callsTool({
    tool: 'stop_pipeline',
    reads: [readPipeline],
    describe: (result) => describeProposal(result.args.at('pipeline_id').text(), result),
  }),
}
