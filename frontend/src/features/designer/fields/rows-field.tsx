import { ActionIcon, Button, Input, Select, TextInput } from '@mantine/core'
import { ArrowDownIcon, ArrowUpIcon, CloseIcon, PlusIcon } from '../../../components/icons.tsx'
import { designerStrings } from '../../../strings/pipelines/designer.ts'
import { type ConfigField, withValue } from './config-fields.ts'
import type { ConfigInputProps } from './config-input-props.ts'
import classes from '../designer.module.css'

const words = designerStrings.form
type Row = Readonly<Record<string, unknown>>

/** A list of objects, each a row of short texts that can be added, moved and removed. */
export function RowsField(props: ConfigInputProps & { readonly fields: readonly ConfigField[] }) {
  const { field, value, fields, readOnly, onChange } = props
  const rows = Array.isArray(value) ? (value as readonly Row[]) : []
  const swap = (at: number, to: number): void => {
    const next = [...rows]
    const [row] = next.splice(at, 1)
    if (row) next.splice(to, 0, row)
    onChange(next)
  }
  const put = (at: number, row: Row): void => onChange(rows.map((other, n) => (n === at ? row : other)))
  return (
    <Input.Wrapper
      label={field.label}
      description={field.description}
      withAsterisk={field.isRequired}
      labelElement="div"
    >
      <ol className={classes.rows}>
        {rows.map((row, at) => (
          // oxlint-disable-next-line react/no-array-index-key -- rows have no stable keys
          <li key={at} className={classes.rowItem}>
            <RowInputs row={row} at={at} fields={fields} readOnly={readOnly} onChange={(next) => put(at, next)} />
            {!readOnly && (
              <RowTools
                at={at}
                count={rows.length}
                onMove={(to) => swap(at, to)}
                onRemove={() => onChange(rows.filter((_, n) => n !== at))}
              />
            )}
          </li>
        ))}
      </ol>
      {!readOnly && (
        <Button
          variant="default"
          size="compact-xs"
          leftSection={<PlusIcon size={12} />}
          onClick={() => onChange([...rows, {}])}
        >
          {words.addRow(field.label)}
        </Button>
      )}
    </Input.Wrapper>
  )
}

interface RowInputsProps {
  readonly row: Row
  /** Position of the row in the list, from 0. */
  readonly at: number
  readonly fields: readonly ConfigField[]
  readonly readOnly: boolean
  readonly onChange: (row: Row) => void
}

function RowInputs({ row, at, fields, readOnly, onChange }: RowInputsProps) {
  return (
    <div className={classes.rowFields}>
      {fields.map((one) => (
        <RowInput
          key={one.name}
          field={one}
          label={words.row(one.label, at + 1)}
          value={row[one.name]}
          readOnly={readOnly}
          onChange={(value) => onChange(withValue(row, one.name, value))}
        />
      ))}
    </div>
  )
}

interface RowInputProps {
  readonly field: ConfigField
  readonly label: string
  readonly value: unknown
  readonly readOnly: boolean
  readonly onChange: (value: unknown) => void
}

function RowInput({ field, label, value, readOnly, onChange }: RowInputProps) {
  const placeholder = field.isRequired ? field.label : `${field.label}, ${words.optional}`
  if (field.kind === 'choice') {
    return (
      <Select
        aria-label={label}
        data={field.options}
        placeholder={placeholder}
        clearable={!field.isRequired && !readOnly}
        readOnly={readOnly}
        value={typeof value === 'string' ? value : null}
        onChange={(chosen) => onChange(chosen ?? undefined)}
      />
    )
  }
  const isNumber = field.kind === 'number'
  const shown = typeof value === 'string' || (isNumber && typeof value === 'number') ? String(value) : ''
  return (
    <TextInput
      aria-label={label}
      placeholder={placeholder}
      classNames={{ input: classes.code ?? '' }}
      spellCheck={false}
      {...(isNumber ? { inputMode: 'decimal' as const } : {})}
      readOnly={readOnly}
      value={shown}
      onChange={({ currentTarget: { value: text } }) => onChange(isNumber ? readNumber(text) : text)}
    />
  )
}

/** A number; text that is none yet, such as `0.`, stays as typed. */
function readNumber(text: string): number | string {
  return text.trim() !== '' && String(Number(text)) === text ? Number(text) : text
}

interface RowToolsProps {
  /** Position of the row in the list, from 0. */
  readonly at: number
  readonly count: number
  readonly onMove: (to: number) => void
  readonly onRemove: () => void
}

function RowTools({ at, count, onMove, onRemove }: RowToolsProps) {
  return (
    <span className={classes.rowTools}>
      <ActionIcon size={24} aria-label={words.moveUp(at + 1)} disabled={at === 0} onClick={() => onMove(at - 1)}>
        <ArrowUpIcon size={12} />
      </ActionIcon>
      <ActionIcon
        size={24}
        aria-label={words.moveDown(at + 1)}
        disabled={at === count - 1}
        onClick={() => onMove(at + 1)}
      >
        <ArrowDownIcon size={12} />
      </ActionIcon>
      <ActionIcon size={24} aria-label={words.removeRow(at + 1)} onClick={onRemove}>
        <CloseIcon size={12} />
      </ActionIcon>
    </span>
  )
}
