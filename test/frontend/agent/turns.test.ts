import { describe, expect, it } from 'vitest'
import {
  type AgentStreamEvent,
  askedTurn,
  followTurn,
  readStreamEvent,
  stopTurn,
} from '../../../frontend/src/features/agent/live-turn.ts'
import { readToolResult, subjectOf } from '../../../frontend/src/features/agent/tool-result.ts'
import { capResult } from '../../../src/agent/tools/cap-result.ts'

const answer = {
  success: true,
  response: 'It is **fine**.',
  tool_calls: [],
  chat_id: 'chat-1',
  provider: 'builtin',
  model: 'rules',
  steps: 2,
  stop_reason: 'answered',
  usage: { input_tokens: 0, output_tokens: 0, estimated: false },
  pending_actions: [],
} as const

const follow = (events: readonly (readonly [string, object])[]) =>
  events
    .map(([name, body]) => readStreamEvent(name, JSON.stringify(body)))
    .filter((event): event is AgentStreamEvent => event !== undefined)
    .reduce(followTurn, askedTurn('How is it?'))

describe('an answer in progress', () => {
  it('has the text of the last step, and each call with its result', () => {
    const turn = follow([
      ['delta', { step: 1, text: 'I loo' }],
      ['delta', { step: 1, text: 'k.' }],
      ['tool_start', { id: 'a', tool: 'table_health', arguments_json: '{"table":"demo.events"}' }],
      ['tool_start', { id: 'b', tool: 'list_tables', arguments_json: '{}' }],
      ['tool_result', { id: 'b', tool: 'list_tables', ok: false, result_json: '{}' }],
      ['tool_result', { id: 'a', tool: 'table_health', ok: true, result_json: '{"data":1}' }],
      ['delta', { step: 2, text: 'It' }],
      ['heartbeat', {}],
    ])
    expect(turn.text).toBe('It')
    expect(turn.calls.map(({ id, ok, resultJson }) => [id, ok, resultJson])).toEqual([
      ['a', true, '{"data":1}'],
      ['b', false, '{}'],
    ])
    expect(turn.state).toBe('running')
  })

  it('ends with the whole answer, and ignores later events', () => {
    const turn = follow([
      ['delta', { step: 1, text: 'It is' }],
      ['done', answer],
      ['delta', { step: 9, text: 'more' }],
    ])
    expect([turn.state, turn.text, turn.answer?.chat_id]).toEqual(['answered', 'It is **fine**.', 'chat-1'])
  })

  it('keeps its text when it fails or is stopped', () => {
    const failed = follow([
      ['delta', { step: 1, text: 'It is' }],
      ['error', { code: 'MODEL_UNAVAILABLE', detail: 'the provider does not answer' }],
    ])
    expect([failed.state, failed.text, failed.problem]).toEqual(['failed', 'It is', 'the provider does not answer'])
    expect(stopTurn(follow([['delta', { step: 1, text: 'x' }]])).state).toBe('stopped')
    expect(stopTurn(failed).state).toBe('failed')
  })
})

describe('the result of a tool', () => {
  it('is a table if it is a list of similar objects', () => {
    const tables = [
      { table: 'demo.events', score: 60, total_size_bytes: 2048, factors: [{ name: 'x' }], note: null },
      { table: 'demo.orders', score: 100, total_size_bytes: 17, factors: [], extra: true },
    ]
    const { table, isTruncated, error } = readToolResult(capResult({ success: true, tables }))
    expect(table?.columns).toEqual(['table', 'score', 'total_size_bytes', 'note', 'extra'])
    expect(table?.rows.map((row) => row.map(({ text }) => text))).toEqual([
      ['demo.events', '60', '2 KiB', '', ''],
      ['demo.orders', '100', '17 B', '', 'true'],
    ])
    expect(table?.rows[0]?.map(({ isNumber }) => isNumber)).toEqual([false, true, true, false, false])
    expect([isTruncated, error]).toEqual([false, undefined])
  })

  it('is a table if it is the answer of a query', () => {
    const columns = [
      { name: 'kind', type: 'VARCHAR' },
      { name: 'n_bytes', type: 'BIGINT' },
    ]
    const { table, isTruncated } = readToolResult(capResult({ columns, rows: [['view', 1200]], truncated: true }))
    expect(table?.columns).toEqual(['kind', 'n_bytes'])
    expect(table?.rows).toEqual([
      [
        { text: 'view', isNumber: false },
        { text: '1200', isNumber: true },
      ],
    ])
    expect(isTruncated).toBe(true)
  })

  it('shows why a call failed', () => {
    expect(readToolResult('{"error":{"code":"NO_SUCH_TABLE","message":"no table x"}}').error).toBe('no table x')
    expect(readToolResult(capResult({ error: 'no' })).error).toBe('no')
    expect(readToolResult(capResult({ state: 'failed', error: null })).error).toBeUndefined()
  })

  it('is plain data otherwise', () => {
    expect(readToolResult('not json')).toMatchObject({ data: 'not json', table: undefined })
    expect(readToolResult(capResult({ score: 3, actions: ['a'] })).table).toBeUndefined()
    expect(readToolResult(capResult([1, { a: 1 }])).table).toBeUndefined()
  })

  it('links to the table of the call', () => {
    expect(subjectOf('{"limit":3,"table":"demo.events"}')).toBe('demo.events')
    expect(subjectOf('{"id":"pipe-1"}')).toBe('pipe-1')
    expect([subjectOf('{}'), subjectOf('['), subjectOf('null')]).toEqual(['', '', ''])
  })
})
