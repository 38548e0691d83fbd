import { Autocomplete, Checkbox, Select, Textarea, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { tableNamesQuery } from '../../../api/tables.ts'
import { KeyField } from '../../../components/form/key-field.tsx'
import { designerStrings } from '../../../strings/pipelines/designer.ts'
import { type ConfigField, shownFields, withValue } from './config-fields.ts'
import type { ConfigInputProps } from './config-input-props.ts'
import type { Node, NodeTypeInfo } from '../../../components/graph/graph.ts'
import { NamesField } from './names-field.tsx'
import { RowsField } from './rows-field.tsx'
import classes from '../designer.module.css'

const words = designerStrings.form
const SHOWN_OPTIONS = 50

export interface ConfigFormProps {
  readonly node: Node
  readonly info: NodeTypeInfo
  /** Ids of the nodes before this one. */
  readonly inputs: readonly string[]
  /** Tables whose columns may be meant. */
  readonly tables: readonly string[]
  readonly readOnly: boolean
  readonly onChange: (config: Node['config'], field: string) => void
}

/** The config of a node as a form, made from the JSON Schema of its type. */
export function ConfigForm({ node, info, inputs, tables, readOnly, onChange }: ConfigFormProps) {
  return shownFields(info, node.config).map((field) => (
    <ConfigInput
      key={field.name}
      field={field}
      value={node.config[field.name]}
      inputs={inputs}
      tables={tables}
      readOnly={readOnly}
      onChange={(value) => onChange(withValue(node.config, field.name, value), field.name)}
    />
  ))
}

function ConfigInput(props: ConfigInputProps) {
  const { field, value, readOnly, onChange } = props
  const common = { label: field.label, description: descriptionOf(field), readOnly, withAsterisk: field.isRequired }
  const text = typeof value === 'string' ? value : ''
  switch (field.kind) {
    case 'table':
      return <TableInput {...props} />
    case 'sql':
      return (
        <Textarea
          {...common}
          classNames={{ input: classes.code ?? '' }}
          autosize
          minRows={2}
          maxRows={14}
          spellCheck={false}
          placeholder={field.example === undefined ? '' : words.example(field.example)}
          value={text}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )
    case 'choice':
      return (
        <Select
          {...common}
          data={field.options}
          placeholder={field.fallback === undefined ? '' : words.fallback(field.fallback)}
          clearable={!field.isRequired && !readOnly}
          value={text === '' ? null : text}
          onChange={(chosen) => onChange(chosen ?? undefined)}
        />
      )
    case 'flag':
      return (
        <Checkbox
          label={field.label}
          description={field.description}
          disabled={readOnly}
          checked={value === true}
          onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        />
      )
    case 'number':
      return <NumberText {...props} />
    case 'rows':
      return <RowsField {...props} fields={field.fields} />
    case 'columns':
      return <ColumnsInput {...props} />
    case 'list':
      return <ListText {...props} />
    case 'names':
      return <NamesField {...props} namePattern={field.namePattern} />
    case 'json':
      return <JsonInput {...props} />
    default:
      return <TextInput {...common} value={text} onChange={({ currentTarget }) => onChange(currentTarget.value)} />
  }
}

function descriptionOf({ description, isRequired }: ConfigField): string | undefined {
  if (isRequired) return description
  return description === undefined ? words.optional : `${description} (${words.optional})`
}

function TableInput({ field, value, readOnly, onChange }: ConfigInputProps) {
  const { data: names = [] } = useQuery(tableNamesQuery)
  return (
    <Autocomplete
      size="xs"
      label={field.label}
      withAsterisk={field.isRequired}
      placeholder={field.example === undefined ? '' : words.example(field.example)}
      data={[...names]}
      limit={SHOWN_OPTIONS}
      readOnly={readOnly}
      spellCheck={false}
      value={typeof value === 'string' ? value : ''}
      onChange={(name) => onChange(name)}
    />
  )
}

function ColumnsInput({ field, value, tables, readOnly, onChange }: ConfigInputProps) {
  const names = Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []
  return (
    <KeyField
      label={field.label}
      description={descriptionOf(field)}
      tables={tables}
      readOnly={readOnly}
      value={names}
      onChange={(chosen) => onChange(chosen.length === 0 ? undefined : chosen)}
    />
  )
}

/** A number as text, so that half-typed ones stay as they are typed. */
function NumberText({ field, value, readOnly, onChange }: ConfigInputProps) {
  return (
    <TextInput
      label={field.label}
      description={descriptionOf(field)}
      inputMode="decimal"
      readOnly={readOnly}
      value={typeof value === 'number' || typeof value === 'string' ? String(value) : ''}
      onChange={({ currentTarget: { value: text } }) =>
        onChange(text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text)
      }
    />
  )
}

/** A list of texts in one line, separated by commas. */
function ListText({ field, value, readOnly, onChange }: ConfigInputProps) {
  const items = Array.isArray(value) ? value.map(String) : []
  const [text, setText] = useState(items.join(', '))
  return (
    <TextInput
      label={field.label}
      description={descriptionOf(field)}
      withAsterisk={field.isRequired}
      placeholder={words.commas}
      classNames={{ input: classes.code ?? '' }}
      spellCheck={false}
      readOnly={readOnly}
      value={text}
      onChange={({ currentTarget: { value: typed } }) => {
        setText(typed)
        const names = typed.split(',').map((name) => name.trim())
        const filled = names.filter((name) => name !== '')
        onChange(filled.length === 0 ? undefined : filled)
      }}
    />
  )
}

/** Any JSON; invalid text stays in the field and is not saved to the graph. */
export function JsonInput({ field, value, readOnly, onChange }: Omit<ConfigInputProps, 'inputs' | 'tables'>) {
  const [text, setText] = useState(() => (value === undefined ? '' : JSON.stringify(value, null, 2)))
  const [isWrong, setWrong] = useState(false)
  return (
    <Textarea
      label={field.label}
      description={field.description}
      classNames={{ input: classes.code ?? '' }}
      autosize
      minRows={3}
      maxRows={16}
      spellCheck={false}
      readOnly={readOnly}
      value={text}
      error={isWrong ? words.notJson : undefined}
      onChange={({ currentTarget: { value: typed } }) => {
        setText(typed)
        const read = readJson(typed)
        setWrong(read === undefined)
        if (read) onChange(read.value)
      }}
    />
  )
}

function readJson(text: string): { readonly value: unknown } | undefined {
  if (text.trim() === '') return { value: undefined }
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}
