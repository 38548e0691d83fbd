import { count, plural } from '../../lib/text.ts'
import { describeProposal } from './maintenance-skill.ts'
import type { JsonView } from './json-view.ts'
import type { Question } from './question.ts'
import { lastOf, type Next, oneCall, type SeenCall, type Skill } from './skill.ts'
import { bullets, duration, moment, problem, quoted } from './words.ts'

const PIPELINE_ID = /\bpipe-[0-9a-z]+\b/
const START = /\bstart (?:a |the |new )*(?:streaming )?pipeline\b/
const EVERY = /\bevery (\d+(?:\.\d+)?) ?(ms|s|sec|seconds?|m|min|minutes?|h|hours?)\b/
const CHECKPOINT = /\bcheckpoint(?: at| in| location)? [`"']?([\w./:-]+)[`"']?/i

/** Proposals to start or stop a pipeline. */
const controlSkill: Skill = {
  matches: ({ lower, isAsking }) =>
    !isAsking && (START.test(lower) || (/\b(stop|halt|shut down)\b/.test(lower) && /\bpipeline|\bpipe-/.test(lower))),
  next: (question, seen) => (START.test(question.lower) ? proposeStart(question, seen) : proposeStop(question, seen)),
}

function proposeStart({ lower, text, tables }: Question, seen: readonly SeenCall[]): Next {
  const [, amount, unit] = EVERY.exec(lower) ?? []
  const location = CHECKPOINT.exec(text)?.[1]
  const [source, sink] = tables.filter((table) => table !== location)
  if (source === undefined || sink === undefined || amount === undefined || location === undefined) {
    return {
      say: 'To start a pipeline I need two tables, an interval and a checkpoint, such as: "start a pipeline from demo.events to demo.copy every 5 seconds with checkpoint checkpoints/events".',
    }
  }
  const result = lastOf(seen, 'start_pipeline')
  const trigger = `${amount} ${unit ?? 's'}`
  const args = { source_table: source, sink_table: sink, trigger_interval: trigger, checkpoint_location: location }
  return result ? { say: describeProposal(source, result) } : { calls: [{ tool: 'start_pipeline', args }] }
}

function proposeStop({ lower }: Question, seen: readonly SeenCall[]): Next {
  const id = PIPELINE_ID.exec(lower)?.[0]
  if (id === undefined) return { say: 'Which pipeline? Give its id, such as "stop pipeline pipe-…".' }
  const result = lastOf(seen, 'stop_pipeline')
  if (result) return { say: describeProposal(id, result) }
  return { calls: [{ tool: 'stop_pipeline', args: { pipeline_id: id } }] }
}

/** One pipeline by its id. */
const statusSkill: Skill = {
  matches: ({ lower }) => PIPELINE_ID.test(lower),
  next({ lower }, seen) {
    const id = PIPELINE_ID.exec(lower)?.[0] ?? ''
    return oneCall({ tool: 'pipeline_status', args: { pipeline_id: id } }, seen, ({ data, error }) => {
      if (error !== undefined) return `I cannot read ${quoted(id)}: ${problem(error)}`
      const sources = data
        .at('last_progress')
        .at('sources')
        .list()
        .map((source) => source.at('lag'))
      return describePipeline(data, sources)
    })
  },
}

const PIPELINES = /\b(pipelines?|streams?|streaming|lag|lags|lagging|behind|ingest\w*)\b/

/** State of pipelines: those that lag, that failed, or all. */
const listSkill: Skill = {
  matches: ({ lower }) => PIPELINES.test(lower) && !/\bdefinitions?\b|\bversions?\b|\bapprov/.test(lower),
  next: ({ lower }, seen) =>
    oneCall({ tool: 'list_pipelines', args: {} }, seen, (result) => describePipelines(result, lower)),
}

interface Shown {
  readonly view: JsonView
  readonly lags: readonly JsonView[]
  readonly rows: number
}

function describePipelines({ data, error, truncated }: SeenCall, lower: string): string {
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
  const { shown, none } = selection(all, lower)
  if (shown.length === 0) return `${head} ${none}`
  return `${head}\n\n${bullets(shown.map(({ view, lags }) => describePipeline(view, lags)))}`
}

function selection(all: readonly Shown[], lower: string): { readonly shown: readonly Shown[]; readonly none: string } {
  const inState = (...names: readonly string[]) => all.filter(({ view }) => names.includes(view.at('state').text()))
  if (/\b(lag|lags|lagging|behind|slow|late|catch\w* up)\b/.test(lower)) {
    const behind = all.filter(({ rows, lags }) => rows > 0 || lags.some((lag) => lag.at('snapshots').number() > 0))
    return { shown: behind.toSorted((a, b) => b.rows - a.rows), none: 'None of them is behind its source.' }
  }
  if (/\b(fail\w*|broken|error\w*|wrong|problem\w*|degraded|trouble)\b/.test(lower)) {
    return { shown: inState('failed', 'degraded'), none: 'None of them has failed or is degraded.' }
  }
  if (/\b(stopped|idle)\b/.test(lower)) return { shown: inState('stopped'), none: 'None of them is stopped.' }
  if (/\b(run|runs|running|active|live)\b/.test(lower)) {
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

/** Skills about streaming pipelines, most specific first. */
export const pipelineSkills: readonly Skill[] = [controlSkill, statusSkill, listSkill]
