import { Button, NumberInput, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { TrashIcon } from '../../../components/icons.tsx'
import { Note } from '../../../components/status/note.tsx'
import { designerStrings } from '../../../strings/pipelines/designer.ts'
import { ConfigForm, JsonInput } from '../fields/config-form.tsx'
import { ConnectionsField } from './connections-field.tsx'
import { titleOf } from '../../../components/graph/flow-elements.ts'
import { nodeById, type Node, type NodeTypes } from '../../../components/graph/graph.ts'
import type { NodeProblems } from '../../../components/graph/flow-elements.ts'
import { tablesBefore } from './graph-reading.ts'
import { SourceColumns } from './source-columns.tsx'
import type { GraphEditor } from './use-graph-editor.ts'
import classes from '../designer.module.css'

const words = designerStrings.inspector

interface InspectorProps {
  readonly editor: GraphEditor
  readonly types: NodeTypes
  readonly selectedId: string | undefined
  readonly problems: ReadonlyMap<string, NodeProblems>
  readonly readOnly: boolean
  readonly onSelect: (id: string | undefined) => void
}

/** Everything about the chosen node: its name, config, flow and place. */
export function Inspector(props: InspectorProps) {
  const node = nodeById(props.editor.graph, props.selectedId)
  return (
    <section className={classes.panel} aria-label={words.title}>
      <h2>{words.title}</h2>
      {node ? <NodeForm key={node.id} {...props} node={node} /> : <p className={classes.hint}>{words.nothing}</p>}
    </section>
  )
}

function NodeForm({ editor, types, problems, readOnly, onSelect, node }: InspectorProps & { readonly node: Node }) {
  const info = types.get(node.type)
  const found = problems.get(node.id)
  const inputs = editor.graph.edges.filter(({ target }) => target === node.id).map(({ source }) => source)
  return (
    <Stack gap="sm">
      <div>
        <strong>{info ? titleOf(node.type, info.title) : node.type}</strong>
        {info && <p className={classes.hint}>{info.description}</p>}
      </div>
      {found && (
        <Note tone={found.severity === 'error' ? 'bad' : 'warn'}>
          {found.messages.map((message) => (
            <div key={message}>{message}</div>
          ))}
        </Note>
      )}
      <NameField editor={editor} node={node} readOnly={readOnly} onSelect={onSelect} />
      {info ? (
        <ConfigForm
          node={node}
          info={info}
          inputs={inputs}
          tables={tablesBefore(editor.graph, node)}
          readOnly={readOnly}
          onChange={(config, field) => editor.configure(node.id, config, field)}
        />
      ) : (
        <UnknownConfig editor={editor} node={node} readOnly={readOnly} />
      )}
      <SourceColumns graph={editor.graph} node={node} />
      <ConnectionsField editor={editor} types={types} node={node} readOnly={readOnly} onSelect={onSelect} />
      <PlaceFields editor={editor} node={node} readOnly={readOnly} />
      {!readOnly && (
        <Button
          variant="default"
          leftSection={<TrashIcon size={14} />}
          onClick={() => {
            editor.remove([node.id], [])
            onSelect(undefined)
          }}
        >
          {words.remove}
        </Button>
      )}
    </Stack>
  )
}

interface PartProps {
  readonly editor: GraphEditor
  readonly node: Node
  readonly readOnly: boolean
}

/** The name is applied on blur or Enter, and only if it is not taken. */
function NameField({ editor, node, readOnly, onSelect }: PartProps & Pick<InspectorProps, 'onSelect'>) {
  const [typed, setTyped] = useState(node.id)
  const name = typed.trim()
  const isTaken = name !== node.id && editor.graph.nodes.some(({ id }) => id === name)
  const problem = name === '' ? words.idEmpty : isTaken ? words.idTaken : undefined
  const settle = (): void => {
    if (problem !== undefined || name === node.id) return
    editor.rename(node.id, name)
    onSelect(name)
  }
  return (
    <TextInput
      label={words.id}
      description={words.idHelp}
      maxLength={200}
      spellCheck={false}
      readOnly={readOnly}
      value={typed}
      error={problem}
      onChange={({ currentTarget }) => setTyped(currentTarget.value)}
      onBlur={settle}
      onKeyDown={({ key }) => {
        if (key === 'Enter') settle()
      }}
    />
  )
}

function UnknownConfig({ editor, node, readOnly }: PartProps) {
  const field = {
    name: 'config',
    label: 'Config',
    description: undefined,
    example: undefined,
    isRequired: false,
    kind: 'json',
  } as const
  const put = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return
    editor.configure(node.id, value as Node['config'], 'config')
  }
  return (
    <>
      <Note tone="info">{words.unknown(node.type)}</Note>
      <JsonInput field={field} value={node.config} readOnly={readOnly} onChange={put} />
    </>
  )
}

function PlaceFields({ editor, node: { id, position }, readOnly }: PartProps) {
  const move = (part: Partial<typeof position>): void => editor.move(new Map([[id, { ...position, ...part }]]))
  return (
    <fieldset className={classes.place}>
      <legend>{words.place}</legend>
      {(['x', 'y'] as const).map((axis) => (
        <NumberInput
          key={axis}
          aria-label={`${words.place}, ${words[axis]}`}
          leftSection={words[axis]}
          step={20}
          readOnly={readOnly}
          hideControls
          value={position[axis]}
          onChange={(value) => {
            if (typeof value === 'number') move({ [axis]: value })
          }}
        />
      ))}
    </fieldset>
  )
}
