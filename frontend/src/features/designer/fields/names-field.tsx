import { ActionIcon, Button, Input, NativeSelect, TextInput } from '@mantine/core'
import { CloseIcon, PlusIcon } from '../../../components/icons.tsx'
import { designerStrings } from '../../../strings/pipelines/designer.ts'
import type { ConfigInputProps } from './config-input-props.ts'
import { freeId } from '../graph-edits.ts'
import classes from '../designer.module.css'

const words = designerStrings.form

/** A record from names to the nodes that flow into this one. */
export function NamesField(props: ConfigInputProps & { readonly namePattern: string | undefined }) {
  const { field, value, inputs, readOnly, onChange, namePattern } = props
  const names = entriesOf(value)
  const put = (entries: readonly (readonly [string, string])[]): void =>
    onChange(entries.length === 0 ? undefined : Object.fromEntries(entries))
  const replace = (at: number, entry: readonly [string, string]): void =>
    put(names.map((other, n) => (n === at ? entry : other)))
  const next = inputs.find((id) => !names.some(([, node]) => node === id)) ?? inputs[0] ?? ''
  const add = (): void => {
    const name = namePattern !== undefined && new RegExp(namePattern).test(next) ? next : 'input'
    put([...names, [freeId(name, new Set(names.map(([known]) => known))), next]])
  }
  return (
    <Input.Wrapper label={field.label} description={field.description} labelElement="div">
      <ul className={classes.rows}>
        {names.map(([name, node], at) => (
          // oxlint-disable-next-line react/no-array-index-key -- the name changes while it is typed
          <li key={at} className={classes.rowItem}>
            <div className={classes.rowPair}>
              <TextInput
                aria-label={words.row(words.nameOf, at + 1)}
                classNames={{ input: classes.code ?? '' }}
                spellCheck={false}
                readOnly={readOnly}
                value={name}
                onChange={({ currentTarget }) => {
                  const isTaken = names.some(([other], n) => n !== at && other === currentTarget.value)
                  if (!isTaken) replace(at, [currentTarget.value, node])
                }}
              />
              <NativeSelect
                aria-label={words.row(words.nodeOf, at + 1)}
                disabled={readOnly}
                data={inputs.includes(node) ? [...inputs] : [node, ...inputs]}
                value={node}
                onChange={({ currentTarget }) => replace(at, [name, currentTarget.value])}
              />
            </div>
            {!readOnly && <RemoveButton at={at} onRemove={() => put(names.filter((_, n) => n !== at))} />}
          </li>
        ))}
      </ul>
      {!readOnly && (
        <Button
          variant="default"
          size="compact-xs"
          leftSection={<PlusIcon size={12} />}
          disabled={inputs.length === 0}
          onClick={add}
        >
          {words.addName}
        </Button>
      )}
    </Input.Wrapper>
  )
}

function RemoveButton({ at, onRemove }: { readonly at: number; readonly onRemove: () => void }) {
  return (
    <ActionIcon size={24} aria-label={words.removeRow(at + 1)} onClick={onRemove}>
      <CloseIcon size={12} />
    </ActionIcon>
  )
}

function entriesOf(value: unknown): [string, string][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return Object.entries(value).map(([name, node]) => [name, String(node)])
}
