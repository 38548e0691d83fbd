import type { Call, Command, OptionSpec } from '../command.ts'
import type { EndpointId } from '../endpoint.ts'
import { confirmed, requireAnswer, YES_OPTION } from '../api/api-command.ts'
import { CommandError, UsageError } from '../errors.ts'
import type { MadeChange } from '../files/apply.ts'
import type { FilePlan } from '../files/plan.ts'
import type { Wanted } from '../files/wanted.ts'
import { JSON_OPTION } from '../show.ts'
import { jsonText } from '../text.ts'

const PLAN_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  owner: { value: 'NAME', help: 'whose files they are, as managed_by shows it (required)' },
  adopt: { help: 'take over objects that were made by hand, or that another owner has' },
  prune: { help: 'delete objects of the owner that the files do not describe; environments keep their settings' },
}

const READ: readonly EndpointId[] = [
  'listEnvironments',
  'listPolicies',
  'listDefinitions',
  'getDefinition',
  'listAlerts',
]
const CHANGED: readonly EndpointId[] = [
  'setEnvironment',
  'createPolicy',
  'updatePolicy',
  'deletePolicy',
  'createDefinition',
  'updateDefinition',
  'createVersion',
  'deleteDefinition',
  'createAlert',
  'updateAlert',
  'deleteAlert',
]

/** Commands for files that describe definitions, environments, policies and alerts (docs/cli.md#files). */
export const fileCommands: Readonly<Record<string, Command>> = {
  diff: {
    summary: 'show how the service differs from the files of a folder',
    names: ['DIR'],
    options: { 'exit-code': { help: 'end with 1 when there are differences' }, ...JSON_OPTION },
    examples: ['lockhouse diff lake', 'lockhouse diff lake --exit-code'],
    endpoints: READ,
    run: showDifferences,
  },
  plan: {
    summary: 'show what apply would do with the files of a folder; changes nothing',
    names: ['DIR'],
    options: { ...PLAN_OPTIONS, ...JSON_OPTION },
    examples: ['lockhouse plan lake --owner team-lake', 'lockhouse plan lake --owner team-lake --prune'],
    endpoints: READ,
    run: showPlan,
  },
  apply: {
    summary: 'change the service so that it is as the files of a folder describe it',
    names: ['DIR'],
    options: {
      ...PLAN_OPTIONS,
      fingerprint: { value: 'TEXT', help: 'only the plan that has this fingerprint' },
      ...YES_OPTION,
      ...JSON_OPTION,
    },
    examples: [
      'lockhouse apply lake --owner team-lake',
      'lockhouse apply lake --owner team-lake --prune --fingerprint 3f2a9c0d1e4b5a67 --yes',
    ],
    endpoints: [...READ, ...CHANGED],
    run: apply,
  },
}

/** The objects of the folder. The modules are loaded late, because other commands do not need them. */
async function readObjects(call: Call): Promise<readonly Wanted[]> {
  const [{ readFolder }, { readWanted }, { requireNoProblems }] = await Promise.all([
    import('../files/folder.ts'),
    import('../files/wanted.ts'),
    import('../files/place.ts'),
  ])
  const { wanted, problems } = readWanted(readFolder(call.names[0] ?? ''))
  requireNoProblems(problems, call)
  return wanted
}

async function showDifferences(call: Call): Promise<void> {
  const { terminal, isSet } = call
  const wanted = await readObjects(call)
  const { compareObjects, listObjects } = await import('../files/compare.ts')
  const { differenceJson, differenceState, differenceText } = await import('../files/show.ts')
  const kinds = [...new Set(wanted.map(({ kind }) => kind))]
  const pairs = await compareObjects(wanted, await listObjects(call, kinds), undefined)
  const isEqual = pairs.every((pair) => differenceState(pair) === 'equal')
  if (isSet('json')) terminal.out(jsonText({ success: true, equal: isEqual, objects: pairs.map(differenceJson) }))
  else {
    for (const pair of pairs) {
      const text = differenceText(pair)
      if (text !== undefined) terminal.out(text)
    }
    if (isEqual) terminal.note('no differences')
  }
  if (isSet('exit-code') && !isEqual) throw new CommandError('the service differs from the files')
}

async function planned(call: Call): Promise<FilePlan> {
  const owner = call.text('owner')
  if (owner === undefined) throw new UsageError('--owner is missing')
  const { managerName } = await import('../../schemas/common.ts')
  const { success, error } = managerName.safeParse(owner)
  if (!success) throw new UsageError(`--owner ${error.issues[0]?.message ?? 'is not a name'}`)
  const wanted = await readObjects(call)
  const { makePlan } = await import('../files/plan.ts')
  return makePlan(call, wanted, { owner, adopt: call.isSet('adopt'), prune: call.isSet('prune') })
}

async function showPlan(call: Call): Promise<void> {
  const plan = await planned(call)
  const { planJson, planText } = await import('../files/show.ts')
  call.terminal.out(call.isSet('json') ? jsonText(planJson(plan)) : planText(plan))
  requireNoRefusal(plan)
}

function requireNoRefusal({ objects }: FilePlan): void {
  const refused = objects.filter(({ action }) => action === 'refused')
  const [first] = refused
  if (first === undefined) return
  const others = refused.length === 1 ? '' : `, and ${refused.length - 1} more`
  throw new CommandError(`${first.kind} ${first.name} is refused, ${first.reason ?? ''}${others}; nothing was changed`)
}

async function apply(call: Call): Promise<void> {
  const { terminal, isSet } = call
  requireAnswer(call)
  const plan = await planned(call)
  const { planText } = await import('../files/show.ts')
  if (!isSet('json')) terminal.note(planText(plan))
  requireNoRefusal(plan)
  const expected = call.text('fingerprint')
  if (expected !== undefined && expected !== plan.fingerprint) {
    throw new CommandError(`the plan is another one now, ${plan.fingerprint}; nothing was changed`)
  }
  const count = plan.objects.filter(({ run }) => run !== undefined).length
  if (count > 0) await confirmed(call, `Make ${count === 1 ? 'this change' : `these ${count} changes`}?`)
  await makeChanges(call, plan, count)
}

async function makeChanges({ terminal, isSet }: Call, plan: FilePlan, count: number): Promise<void> {
  const { applyPlan } = await import('../files/apply.ts')
  const { madeJson, madeText, objectJson, objectText } = await import('../files/show.ts')
  const onChange = (made: MadeChange): void => (isSet('json') ? undefined : terminal.out(madeText(made)))
  const { made, failed, left } = await applyPlan(plan.objects, onChange)
  if (isSet('json')) {
    const { owner, fingerprint } = plan
    const rest = { failed: failed === undefined ? null : objectJson(failed.object), left: left.map(objectJson) }
    const answer = { success: failed === undefined, owner, fingerprint, made: made.map(madeJson), ...rest }
    terminal.out(jsonText(answer))
  }
  if (failed === undefined) return isSet('json') || count > 0 ? undefined : terminal.note('nothing to do')
  if (!isSet('json')) for (const object of left) terminal.note(`not done: ${objectText(object)}`)
  const { error, object } = failed
  const summary = `${made.length} of ${count} changes were made; repeat the command to make the others`
  throw new CommandError(`${objectText(object)}: ${error.message}; ${summary}`, error.code)
}
