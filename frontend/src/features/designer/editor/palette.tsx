import { designerStrings } from '../../../strings/pipelines/designer.ts'
import { DRAGGED_TYPE } from '../../../components/graph/dragged-type.ts'
import { titleOf } from '../../../components/graph/flow-elements.ts'
import type { NodeTypes } from '../../../components/graph/graph.ts'
import classes from '../designer.module.css'

const words = designerStrings.palette

interface PaletteProps {
  readonly types: NodeTypes
  readonly onAdd: (type: string) => void
}

/** The runnable node types: a click adds one after the selected node, dragging adds it anywhere. */
export function Palette({ types, onAdd }: PaletteProps) {
  return (
    <section className={classes.panel} aria-label={words.title}>
      <h2>{words.title}</h2>
      <div className={classes.palette}>
        {[...types.values()].map(({ type, title, description }) => (
          <button
            key={type}
            type="button"
            className={classes.paletteItem}
            title={description}
            draggable
            onDragStart={({ dataTransfer }) => {
              dataTransfer.setData(DRAGGED_TYPE, type)
              dataTransfer.effectAllowed = 'copy'
            }}
            onClick={() => onAdd(type)}
          >
            {titleOf(type, title)}
          </button>
        ))}
      </div>
    </section>
  )
}
