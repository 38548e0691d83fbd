import { designerStrings } from '../../strings/designer.ts'
import { DRAGGED_TYPE } from './dragged-type.ts'
import { titleOf } from './flow-elements.ts'
import type { NodeTypes } from './graph.ts'
import classes from './designer.module.css'

const words = designerStrings.palette

interface PaletteProps {
  readonly types: NodeTypes
  readonly onAdd: (type: string) => void
}

/** The types of nodes that can run: a click adds one after the chosen node, dragging puts it anywhere. */
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
