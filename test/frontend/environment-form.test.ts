import { describe, expect, it } from 'vitest'
import { validateForm } from '../../frontend/src/components/form/form-schema.ts'
import {
  changedMembers,
  differences,
  type EnvironmentForm,
  type ParameterRow,
  rebase,
  toForm,
} from '../../frontend/src/features/environments/form.ts'
import { environmentSchema } from '../../frontend/src/features/environments/schema.ts'
import type { EnvironmentSettings } from '../../frontend/src/api/types.ts'

const settings: EnvironmentSettings = {
  environment: 'qa',
  parameters: { schema: 'sales', limit: 10, strict: true, api_key: 'env:LAKE_API_KEY', blank: '', tiny: 1e-7 },
  writes: ['sales.*', 'demo.copy'],
  deploy: 'manual',
  defaults: {
    trigger_interval: '5 seconds',
    checkpoint_root: 'checkpoints',
    max_files_per_batch: 1000,
    max_bytes_per_batch: 2 ** 30,
    engine: 'embedded',
  },
  approvals: null,
  windows: [],
  rollback_if: null,
  managed_by: null,
  revision: 3,
  updated_at: '2026-01-02T03:04:05.000Z',
}
const form = toForm(settings)
const row = (given: Partial<ParameterRow>): ParameterRow => ({ id: 90, name: 'x', type: 'text', value: '', ...given })
const withRow = (given: Partial<ParameterRow>): EnvironmentForm => ({ ...form, parameters: [row(given)] })
const errorsOf = (values: EnvironmentForm) => validateForm(environmentSchema, values)

describe('the form of an environment', () => {
  it('returns its initial values with their types, and then requests no change', () => {
    const request = environmentSchema.parse(form)
    expect(request.parameters).toEqual(settings.parameters)
    expect(request.writes).toEqual(settings.writes)
    expect(changedMembers(settings, request)).toBeUndefined()
  })

  it('requests only the members that were changed', () => {
    const changed = { ...form, deploy: 'on_arrival' as const, defaults: { ...form.defaults, max_files_per_batch: '5' } }
    expect(changedMembers(settings, environmentSchema.parse(changed))).toEqual({
      deploy: 'on_arrival',
      defaults: { max_files_per_batch: 5 },
    })
    const [, ...others] = form.parameters
    const { schema: _removed, ...left } = settings.parameters
    expect(changedMembers(settings, environmentSchema.parse({ ...form, parameters: others }))).toEqual({
      parameters: left,
    })
    expect(changedMembers(settings, environmentSchema.parse({ ...form, writes: ' \n' }))).toEqual({ writes: [] })
  })

  it('keeps a number, a truth value and a secret apart from the same text', () => {
    const typesOf = (type: ParameterRow['type'], value: string) =>
      environmentSchema.parse(withRow({ type, value })).parameters
    expect(typesOf('text', '10')).toEqual({ x: '10' })
    expect(typesOf('number', ' 10 ')).toEqual({ x: 10 })
    expect(typesOf('number', '-1.5e3')).toEqual({ x: -1500 })
    expect(typesOf('text', 'true')).toEqual({ x: 'true' })
    expect(typesOf('boolean', 'false')).toEqual({ x: false })
    expect(typesOf('secret', 'LAKE_KEY')).toEqual({ x: 'env:LAKE_KEY' })
  })

  it.each([
    [{ name: '', value: 'a' }, 'name', /Enter a name/],
    [{ name: '1st' }, 'name', /^Must be a letter or _/],
    [{ type: 'number', value: 'ten' }, 'value', /Enter a number/],
    [{ type: 'number', value: '' }, 'value', /Enter a number/],
    [{ type: 'number', value: '9007199254740993' }, 'value', /too many digits/],
    [{ type: 'number', value: '1e400' }, 'value', /too many digits/],
    [{ value: 'env:LAKE_KEY' }, 'value', /type Secret/],
    [{ type: 'secret', value: '' }, 'value', /name of a variable/],
    [{ type: 'secret', value: 'LAKE KEY' }, 'value', /name of a variable/],
  ] as const)('refuses the parameter %j at its field', (given, field, message) => {
    expect(errorsOf(withRow(given))).toEqual({ [`parameters.0.${field}`]: expect.stringMatching(message) })
  })

  it('refuses a text that is too long for the service', () => {
    expect(errorsOf(withRow({ value: 'a'.repeat(2000) }))).toEqual({})
    expect(errorsOf(withRow({ value: 'a'.repeat(2001) }))).toEqual({
      'parameters.0.value': 'Enter at most 2,000 characters.',
    })
  })

  it('refuses a duplicate name at the second row, and defaults at their fields', () => {
    const twice = { ...form, parameters: [row({ name: 'a' }), row({ id: 91, name: ' a ' })] }
    expect(errorsOf(twice)).toEqual({ 'parameters.1.name': 'Duplicate name.' })
    const defaults = {
      trigger_interval: '1 year',
      checkpoint_root: ' ',
      max_files_per_batch: '0',
      max_bytes_per_batch: '',
    }
    expect(Object.keys(errorsOf({ ...form, defaults }))).toEqual([
      'defaults.trigger_interval',
      'defaults.checkpoint_root',
      'defaults.max_files_per_batch',
      'defaults.max_bytes_per_batch',
    ])
  })
})

describe('the rules in the form of an environment', () => {
  const uat: EnvironmentSettings = {
    ...settings,
    environment: 'uat',
    approvals: { required: 2, forbid_self: true, expires_after: '3 days' },
    windows: [
      { kind: 'deny', timezone: 'UTC', days: ['sat', 'sun'], from: '00:00', to: '00:00', dates: ['2026-12-24'] },
    ],
    rollback_if: { lag_over: '15 minutes', failed_batches: 3, within: '1 hour' },
  }
  const filled = toForm(uat)

  it('are returned as they are, and then no change is requested', () => {
    expect(changedMembers(uat, environmentSchema.parse(filled))).toBeUndefined()
  })

  it('are requested as a whole when one member is changed, and as off when the fields are empty', () => {
    const [window] = filled.windows
    const changed = {
      ...filled,
      approvals: { ...filled.approvals, required: '1', expires_after: '' },
      windows: window === undefined ? [] : [{ ...window, dates: '' }],
      rollback_if: { ...filled.rollback_if, lag_over: ' ', failed_batches: '' },
    }
    expect(changedMembers(uat, environmentSchema.parse(changed))).toEqual({
      approvals: { required: 1, forbid_self: true, expires_after: null },
      windows: [{ ...uat.windows[0], dates: null }],
      rollback_if: null,
    })
  })

  it('explain what is wrong at its field', () => {
    const [window] = filled.windows
    const wrong = {
      ...filled,
      approvals: { ...filled.approvals, required: 'many', expires_after: 'soon' },
      windows: window === undefined ? [] : [{ ...window, days: [], from: '' }],
      rollback_if: { ...filled.rollback_if, within: '' },
    }
    expect(Object.keys(errorsOf(wrong))).toEqual(
      expect.arrayContaining([
        'approvals.required',
        'approvals.expires_after',
        'windows.0.days',
        'windows.0.from',
        'rollback_if.within',
      ]),
    )
    const dated = { ...filled, windows: window === undefined ? [] : [{ ...window, dates: 'Christmas' }] }
    expect(errorsOf(dated)['windows.0.dates']).toMatch(/one date per line/)
  })
})

describe('a change by someone else while the form is open', () => {
  const theirs: EnvironmentSettings = {
    ...settings,
    parameters: { schema: 'sales', limit: 20, strict: false, added: 'new' },
    writes: ['sales.*', 'theirs.*'],
    defaults: { ...settings.defaults, trigger_interval: '1 min' },
    revision: 4,
  }
  const named = (name: string) => form.parameters.find((one) => one.name === name) ?? row({ name })

  it('is listed by name', () => {
    expect(differences(settings, theirs).map(({ name }) => name)).toEqual([
      'limit',
      'strict',
      'api_key',
      'blank',
      'tiny',
      'added',
      'writes',
      'trigger_interval',
    ])
    expect(differences(settings, settings)).toEqual([])
  })

  it('reaches what was not edited, and keeps what was', () => {
    const mine: EnvironmentForm = {
      ...form,
      parameters: [
        named('schema'),
        { ...named('limit'), value: '99' },
        named('strict'),
        named('api_key'),
        row({ name: 'mine', value: 'own' }),
      ],
      writes: 'demo.copy\nmine.*',
      deploy: 'on_arrival',
      defaults: { ...form.defaults, checkpoint_root: 'own' },
    }
    const merged = rebase(mine, form, toForm(theirs))
    expect(environmentSchema.parse(merged)).toEqual({
      parameters: { schema: 'sales', limit: 99, strict: false, mine: 'own', added: 'new' },
      writes: ['mine.*', 'theirs.*'],
      deploy: 'on_arrival',
      defaults: {
        trigger_interval: '1 min',
        checkpoint_root: 'own',
        max_files_per_batch: 1000,
        max_bytes_per_batch: 2 ** 30,
      },
      windows: [],
      rollback_if: null,
    })
    expect(new Set(merged.parameters.map(({ id }) => id)).size).toBe(merged.parameters.length)
    expect(rebase(form, form, toForm(theirs)).writes).toBe('sales.*\ntheirs.*')
  })
})
