import { describe, expect, it } from 'vitest'
import { createBuiltinModel } from '../../../src/agent/builtin/builtin-model.ts'
import type { ChatMessage } from '../../../src/agent/model/chat-model.ts'
import { allTools, findChangeTool } from '../../../src/agent/tools/all-tools.ts'
import { describeTools } from '../../../src/agent/tools/tool-descriptions.ts'

const model = createBuiltinModel(() => new Date('2026-11-26T10:00:00Z'))
const tools = describeTools(allTools)

const says = (content: string): ChatMessage => ({ role: 'user', content })
const answers = (content: string): ChatMessage => ({ role: 'assistant', content, toolCalls: [] })

/** The calls of the next step, each as `tool {arguments}`; the text when there is none. */
async function step(...messages: readonly ChatMessage[]): Promise<string> {
  const { toolCalls, text } = await model.complete({
    messages,
    tools,
    forbiddenTools: [],
    someTables: async () => ['demo.orders'],
    mayCallTools: true,
    maxOutputTokens: 1000,
    signal: new AbortController().signal,
  })
  const calls = toolCalls.map((call) => `${call.name} ${JSON.stringify(call.arguments)}`)
  return calls.length === 0 ? text : calls.join(', ')
}

/** The changes that the next step proposes. */
async function proposes(...messages: readonly ChatMessage[]): Promise<readonly string[]> {
  return (await step(...messages)).split(' ').filter((word) => findChangeTool(word))
}

/** A finished tool call. */
function called(name: string, args: Readonly<Record<string, unknown>>, data: object): readonly ChatMessage[] {
  const content = JSON.stringify({ untrusted: true, truncated: false, data })
  return [
    { role: 'assistant', content: '', toolCalls: [{ id: 'call1x0', name, arguments: args }] },
    { role: 'tool', toolCallId: 'call1x0', name, content },
  ]
}

const DEF = 'def-01kaz3v8c0qf'
const OTHER_DEF = 'def-01kaz3v8c0qg'
const PIPE = 'pipe-01kaz3v8c0qf'
const OTHER_PIPE = 'pipe-01kaz3v8c0qg'
const WHICH_ORDERS = 'Which table do you mean? Did you mean:\n\n- `demo.orders`\n- `demo.trips`'

describe('the builtin assistant', () => {
  it.each([
    'Compact all tables except demo.events',
    'Compact all tables except the 3 largest and demo.events',
    'Compact everything but not demo.events',
    'Compact everything but demo.events',
    'Compact every table other than demo.events',
    'Compact all tables excluding demo.events',
    'Compact all tables, but keep demo.events',
    'Compact all tables minus demo.events',
    'Compact every table outside of demo.events',
    'Compact everything, leave demo.events',
    'Compact demo.events, nope',
    'Stop compacting demo.events',
    'Remove the order to drop column note from demo.orders',
    'Compact not demo.events but demo.orders',
    'compact demo.events, do not',
    "compact demo.events. Actually don't.",
    'compact demo.events. Actually don’t.',
    'compact demo.events. Actually don`t.',
    'compact demo.events, no',
    'compact demo.events — no',
    'compact demo.events, *not*',
    'Compact demo.events never',
    'Compact demo.events. Wait, forget it',
    'compact nothing in demo.events',
    'Expire snapshots of demo.events, but not today',
    'Drop column note from demo.orders is not allowed',
    'Drop column note from demo.orders is forbidden',
    'Drop the idea of removing the column note from demo.orders',
    'Rename column total to amount in demo.orders never',
    `Undeploy nothing of ${DEF} in production`,
    `Deploy ${DEF} to qa, no`,
  ])('proposes nothing when the prompt negates: %s', async (prompt) => {
    expect(await proposes(says(prompt))).toEqual([])
  })

  it.each([
    'Compact failed on demo.events',
    'Compact demo.events failed',
    'Compact demo.events was slow',
    'Compact made demo.events slow',
    `Deploy of ${DEF} to qa`,
    `Deploy ${DEF} to qa was a mistake`,
    'Compaction of demo.events was slow',
    'Compact demo.events unless it is healthy',
    'Compact demo.events when it has many files',
    'Compact demo.events once the load is done',
    'Compact demo.events or demo.orders',
    'compact demo.events？',
    'compact demo.events؟',
    'Would you compact demo.events or leave it alone?',
    'Can you compact demo.events or not?',
    'Would you compact demo.events?',
    'Will you compact demo.events tonight',
  ])('proposes nothing when the prompt is a statement or a question: %s', async (prompt) => {
    expect(await proposes(says(prompt))).toEqual([])
  })

  it.each([
    ['Expire all but the last 5 snapshots of demo.events', 'expire_snapshots'],
    ['Expire old snapshots of demo.events but keep the newest 5', 'expire_snapshots'],
    ['Remove old snapshots from demo.events but keep three', 'expire_snapshots'],
    ['Expire the snapshots of demo.events that are older than a week', 'expire_snapshots'],
    ['Compact demo.never', 'compact'],
    ['Compact demo.events, it is slow', 'compact'],
    ['Compact `no.except`', 'compact'],
    ['Drop column no from demo.orders', 'drop_column'],
    ['Drop the column named never from demo.orders', 'drop_column'],
    ['Drop column "is" from demo.orders', 'drop_column'],
    ['Drop column plan from demo.orders', 'drop_column'],
    ['Drop column not_null from demo.orders', 'drop_column'],
    ['Add column no string to demo.orders', 'add_column'],
    ['Rename column no to yes in demo.orders', 'rename_column'],
    ['Rename column yes to no in demo.orders', 'rename_column'],
    ['Will you please compact demo.events?', 'compact'],
    ['Could you compact demo.events?', 'compact'],
    ['Compact demo.events: now', 'compact'],
    [`Roll back the failed deployment of ${DEF} in qa`, 'rollback_deployment'],
  ])('proposes the change when the order has names or limits with such words: %s', async (prompt, tool) => {
    expect(await proposes(says(prompt))).toEqual([tool])
  })

  it.each([
    ['compact orders?', 'the first', WHICH_ORDERS],
    ['compact orders?', 'demo.orders', WHICH_ORDERS],
    ['compact orders?', 'orders', WHICH_ORDERS],
    ['compact orders？', 'yes', WHICH_ORDERS],
    ['compact demo.order?', 'yes', 'I cannot read it. Did you mean:\n\n- `demo.orders`'],
    ['compact orders', 'the first?', WHICH_ORDERS],
    ['compact orders', 'what about the first', WHICH_ORDERS],
    ['can you compact demo.trips?', 'and demo.orders?', 'Nothing: there is nothing to do in demo.trips.'],
    ['can you compact demo.trips?', 'demo.orders', 'Nothing: there is nothing to do in demo.trips.'],
  ])('plans the change when a question is completed: %s, %s', async (before, prompt, answer) => {
    const next = await step(says(before), answers(answer), says(prompt))
    expect(next).toMatch(/^plan_compaction \{"table":"demo\.orders"/)
  })

  it('proposes the change when an order is completed', async () => {
    for (const before of ['compact orders', 'could you compact orders?']) {
      const next = await step(says(before), answers(WHICH_ORDERS), says('the first'))
      expect(next, before).toBe('compact {"table":"demo.orders"}')
    }
  })

  it('proposes nothing when the user answers no', async () => {
    const offer = 'Which table do you mean? These exist:\n\n- `demo.no`\n- `demo.none`'
    for (const prompt of ['no', 'none']) {
      expect(await proposes(says('compact it'), answers(offer), says(prompt)), prompt).toEqual([])
    }
  })
})

describe('the definition of an order', () => {
  const order = async (prompt: string, ...names: readonly string[]): Promise<string> => {
    const definitions = names.map((name, at) => ({ id: at === 0 ? DEF : OTHER_DEF, name }))
    const next = await step(says(prompt), ...called('list_definitions', {}, { definitions }))
    return next.replace(/ \{.*"definition_id":"([^"]+)".*/, ' $1').split('?')[0] ?? ''
  }
  const ASKS = 'Which definition do you mean'

  it.each([
    ['Deploy orders to production', `deploy_pipeline ${DEF}`, ['orders', 'to production']],
    ['Deploy orders to production', `deploy_pipeline ${DEF}`, ['orders', 'production']],
    ['Deploy sales daily to qa', `deploy_pipeline ${OTHER_DEF}`, ['sales', 'sales daily']],
    ['Deploy orders to production', ASKS, ['orders', 'orders to production']],
    ['Deploy orders with fraud checks to qa', ASKS, ['orders', 'fraud checks']],
    ['Deploy sales and sales daily to qa', ASKS, ['sales', 'sales daily']],
    ['Deploy the newest version to qa', ASKS, ['orders', 'version']],
  ])('is the one that the order names: %s → %s', async (prompt, wanted, names) => {
    expect(await order(prompt, ...names)).toBe(wanted)
  })
})

const DEFINITIONS = called(
  'list_definitions',
  {},
  { definitions: [DEF, OTHER_DEF].map((id, at) => ({ id, name: `d${at}` })) },
)

describe('an id of earlier messages', () => {
  it('is used when the answer names exactly one', async () => {
    const status = answers(`\`${PIPE}\` from \`demo.orders\` into \`demo.copy\` is running.`)
    expect(await step(says('is it ok'), status, says('stop it'))).toContain(`stop_pipeline {"pipeline_id":"${PIPE}"`)
    const listed = answers(`1 pipeline definition:\n\n- \`orders\` (${DEF}), by \`ana\`: \`Replaces ${OTHER_DEF}\``)
    const deployed = await step(says('list definitions'), listed, says('undeploy it in qa'), ...DEFINITIONS)
    expect(deployed).toContain(`undeploy_pipeline {"definition_id":"${DEF}"`)
  })

  it('is used when the user names it after a list', async () => {
    const list = answers(`There are 2 pipelines:\n\n- \`${PIPE}\` runs\n- \`${OTHER_PIPE}\` runs`)
    const asked = [says('list pipelines'), list, says(`status of ${PIPE}`), answers('It runs.'), says('stop it')]
    expect(await step(...asked)).toContain(`stop_pipeline {"pipeline_id":"${PIPE}"`)
  })

  it('is ignored when the answer names several, or only a description names it', async () => {
    const pipelines = answers(`There are 2 pipelines:\n\n- \`${PIPE}\` runs\n- \`${OTHER_PIPE}\` runs`)
    for (const before of ['list pipelines', `status of ${PIPE}`]) {
      expect(await step(says(before), pipelines, says('stop it'))).toMatch(/^list_pipelines/)
    }
    const long = answers(`- \`${PIPE}\` runs\n${'- more\n'.repeat(400)}- \`${OTHER_PIPE}\` runs`)
    expect(await step(says('list pipelines'), long, says('stop it'))).toMatch(/^list_pipelines/)
    const definitions = answers(`2 pipeline definitions:\n\n- \`a\` (${DEF})\n- \`b\` (${OTHER_DEF})`)
    const described = answers(`1 approval request is waiting: version 1 of \`see ${DEF}\``)
    for (const answer of [definitions, described]) {
      const next = await step(says('anything new'), answer, says('undeploy it in qa'), ...DEFINITIONS)
      expect(next).toMatch(/^Which definition do you mean/)
    }
  })
})

describe('a long conversation', () => {
  it.each([
    ['words without end', `a.${'b'.repeat(60_000)}:`],
    ['many names', 'area.customer_events, '.repeat(3_000)],
    ['many quotes', '`a.'.repeat(20_000)],
    ['many spaces and marks', 'compact it ?! '.repeat(5_000)],
  ])('is read in less than a second: %s', async (_, text) => {
    const start = performance.now()
    await step(says(text), answers(text), says('stop it'))
    expect(performance.now() - start).toBeLessThan(1000)
  })
})
