import { ActionIcon, NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { CloseIcon } from '../../../components/icons.tsx'
import { designerStrings } from '../../../strings/pipelines/designer.ts'
import type { Edge, Node, NodeTypes } from '../../../components/graph/graph.ts'
import { type ConnectRefusal, whyNotConnect } from '../graph-edits.ts'
import type { GraphEditor } from './use-graph-editor.ts'
import classes from '../designer.module.css'

const words = designerStrings.inspector

interface ConnectionsProps {
  readonly editor: GraphEditor
  readonly types: NodeTypes
  readonly node: Node
  readonly readOnly: boolean
  readonly onSelect: (id: string) => void
}

/** The connections of a node, editable without dragging. */
export function ConnectionsField(props: ConnectionsProps) {
  const { types, node } = props
  const info = types.get(node.type)
  return (
    <fieldset className={classes.flow}>
      <legend>{words.flow}</legend>
      {info?.inputs.max !== 0 && <Side {...props} side="inputs" />}
      {info?.has_output !== false && <Side {...props} side="outputs" />}
    </fieldset>
  )
}

function Side({
  editor,
  types,
  node,
  readOnly,
  onSelect,
  side,
}: ConnectionsProps & { readonly side: 'inputs' | 'outputs' }) {
  const [refusal, setRefusal] = useState<ConnectRefusal>()
  const { graph } = editor
  const isInput = side === 'inputs'
  const edges = graph.edges.filter((edge) => (isInput ? edge.target : edge.source) === node.id)
  const endsWith = (other: string) =>
    isInput ? { source: other, target: node.id } : { source: node.id, target: other }
  const possible = graph.nodes.filter(
    ({ id }) => id !== node.id && !edges.some((edge) => otherEnd(edge, isInput) === id),
  )
  const join = (other: string): void => {
    if (other === '') return
    const ends = endsWith(other)
    const why = whyNotConnect(graph, types, ends)
    setRefusal(why)
    if (why === undefined) editor.connect(ends.source, ends.target)
  }
  return (
    <div className={classes.side}>
      <span className={classes.hint}>{words[side]}</span>
      <ul className={classes.ends}>
        {edges.length === 0 && <li className={classes.hint}>{words.none}</li>}
        {edges.map((edge) => (
          <li key={edge.id}>
            <button type="button" className={classes.end} onClick={() => onSelect(otherEnd(edge, isInput))}>
              {otherEnd(edge, isInput)}
            </button>
            {!readOnly && <RemoveEdgeButton edge={edge} editor={editor} />}
          </li>
        ))}
      </ul>
      {!readOnly && possible.length > 0 && (
        <NativeSelect
          aria-label={isInput ? words.addInput : words.addOutput}
          value=""
          error={refusal && words.refusals[refusal]}
          data={[
            { value: '', label: isInput ? words.addInput : words.addOutput },
            ...possible.map(({ id }) => ({ value: id, label: id })),
          ]}
          onChange={({ currentTarget }) => join(currentTarget.value)}
        />
      )}
    </div>
  )
}

function RemoveEdgeButton({ edge, editor }: { readonly edge: Edge; readonly editor: GraphEditor }) {
  return (
    <ActionIcon
      size={24}
      aria-label={words.removeEdge(edge.source, edge.target)}
      onClick={() => editor.remove([], [edge.id])}
    >
      <CloseIcon size={12} />
    </ActionIcon>
  )
}

function otherEnd({ source, target }: Edge, isInput: boolean): string {
  return isInput ? source : target
}
