import {
  Autocomplete,
  Button,
  Checkbox,
  Collapse,
  MultiSelect,
  Select,
  Stack,
  Textarea,
  TextInput,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ChevronDownIcon, ChevronRightIcon } from '../../../components/icons.tsx'
import { useZone } from '../../../time/time-settings.ts'
import { actions as words, fields as texts } from '../../../strings/table-actions.ts'
import { schemaQuery } from '../api.ts'
import { MAX_CURVE_COLUMNS } from '../../../../../src/domain/tables/strategies.ts'
import type { FieldSpec } from './action-specs.ts'
import type { EffectiveDefaults } from './effective-defaults.ts'
import { columnsIn, columnsText, type FormValues, isAsked } from './form-values.ts'

export interface ActionFormProps {
  readonly table: string
  readonly fields: readonly FieldSpec[]
  /** What holds for fields that are left empty. */
  readonly defaults: EffectiveDefaults
  readonly values: FormValues
  /** Messages by field. */
  readonly errors: Readonly<Record<string, ReactNode>>
  readonly onChange: (field: string, value: string | boolean) => void
}

/** The fields of an action; rarely used ones are collapsed unless they have a value. */
export function ActionForm({ table, fields, defaults, values, errors, onChange }: ActionFormProps) {
  const main = fields.filter((field) => field.advanced !== true)
  const advanced = fields.filter((field) => field.advanced === true)
  const used = advanced.some(({ name }) => values[name] !== undefined || errors[name] !== undefined)
  const [unfolded, { toggle }] = useDisclosure(used)
  const show = (field: FieldSpec) =>
    isAsked(field, values) && (
      <ActionField
        key={field.name}
        table={table}
        field={field}
        placeholder={defaults[field.name]}
        value={values[field.name]}
        error={errors[field.name]}
        onChange={(value) => onChange(field.name, value)}
      />
    )
  return (
    <Stack gap="sm">
      {main.map(show)}
      {advanced.length > 0 && (
        <div>
          <Button
            variant="subtle"
            color="gray"
            px={4}
            leftSection={unfolded ? <ChevronDownIcon size={14} /> : <ChevronRightIcon size={14} />}
            aria-expanded={unfolded}
            onClick={toggle}
          >
            {words.advanced}
          </Button>
          <Collapse expanded={unfolded}>
            {unfolded && (
              <Stack gap="sm" pt="xs">
                {advanced.map(show)}
              </Stack>
            )}
          </Collapse>
        </div>
      )}
    </Stack>
  )
}

interface ActionFieldProps {
  readonly table: string
  readonly field: FieldSpec
  readonly placeholder: string | undefined
  readonly value: string | boolean | undefined
  readonly error: ReactNode
  readonly onChange: (value: string | boolean) => void
}

const COLUMN_TYPES = [
  'boolean',
  'int',
  'long',
  'float',
  'double',
  'decimal(18,2)',
  'date',
  'time',
  'timestamp',
  'timestamptz',
  'string',
  'uuid',
  'binary',
  'list<string>',
  'map<string, string>',
]

function ActionField({ table, field, placeholder, value, error, onChange }: ActionFieldProps) {
  const { type, label, hint, required = false, choices = {} } = field
  const zone = useZone()
  const text = typeof value === 'string' ? value : ''
  const common = { label, description: hint, error, required, name: field.name }
  const typed = { ...common, placeholder, value: text, autoComplete: 'off', spellCheck: false }
  switch (type) {
    case 'flag':
      return (
        <Checkbox
          label={label}
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
          error={error}
        />
      )
    case 'choice': {
      const options = Object.entries(choices).map(([name, words_]) => ({ value: name, label: words_ }))
      const chosen = text === '' ? (options[0]?.value ?? null) : text
      return (
        <Select
          {...common}
          data={options}
          value={chosen}
          onChange={(next) => onChange(next ?? '')}
          allowDeselect={false}
        />
      )
    }
    case 'column':
      return <ColumnSelect {...common} table={table} value={text} onChange={onChange} />
    case 'columns':
      return <ColumnsSelect {...common} table={table} value={text} onChange={onChange} />
    case 'column-type':
      return <Autocomplete {...typed} size="xs" data={COLUMN_TYPES} onChange={onChange} />
    case 'ids':
      return (
        <Textarea
          {...typed}
          autosize
          minRows={2}
          maxRows={6}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )
    case 'time':
      return (
        <TextInput
          {...typed}
          label={`${label} (${zone})`}
          description={[hint, placeholder && texts.olderThanDefault(placeholder)].filter(Boolean).join(' ')}
          type="datetime-local"
          step={1}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )
    default:
      return <TextInput {...typed} onChange={(event) => onChange(event.currentTarget.value)} />
  }
}

interface ColumnSelectProps {
  readonly table: string
  readonly label: string
  readonly error: ReactNode
  readonly required: boolean
  readonly value: string
  readonly onChange: (value: string) => void
}

function ColumnsSelect({ table, value, onChange, ...rest }: ColumnSelectProps) {
  const { data } = useQuery(schemaQuery(table))
  const chosen = columnsIn(value)
  const paths = data?.columns.map(({ path }) => path) ?? []
  return (
    <MultiSelect
      {...rest}
      data={[...new Set([...paths, ...chosen])]}
      value={[...chosen]}
      onChange={(next) => onChange(columnsText(next))}
      maxValues={MAX_CURVE_COLUMNS}
      searchable
      limit={100}
    />
  )
}

function ColumnSelect({ table, value, onChange, ...rest }: ColumnSelectProps) {
  const { data } = useQuery(schemaQuery(table))
  const paths = data?.columns.map(({ path }) => path) ?? []
  const options = value !== '' && !paths.includes(value) ? [value, ...paths] : paths
  return (
    <Select
      {...rest}
      data={options}
      value={value === '' ? null : value}
      onChange={(next) => onChange(next ?? '')}
      searchable
      limit={100}
    />
  )
}
