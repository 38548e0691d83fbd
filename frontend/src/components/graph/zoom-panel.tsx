import { ActionIcon, Tooltip } from '@mantine/core'
import { Panel, useReactFlow } from '@xyflow/react'
import { memo, type ReactNode } from 'react'
import { FitIcon, MinusIcon, PlusIcon } from '../icons.tsx'
import { graphStrings as words } from '../../strings/everywhere/graph.ts'
import classes from './view.module.css'

/** How all nodes are shown at once. */
export const FIT = { padding: 0.06, maxZoom: 1 } as const

/** Buttons that change what of a graph is visible. It does not depend on the graph, so that edits do not render it again. */
export const ZoomPanel = memo(function ZoomPanel() {
  const flow = useReactFlow()
  return (
    <Panel position="bottom-left" className={classes.zoom ?? ''}>
      <ZoomButton label={words.zoomIn} onClick={() => void flow.zoomIn()} icon={<PlusIcon size={14} />} />
      <ZoomButton label={words.zoomOut} onClick={() => void flow.zoomOut()} icon={<MinusIcon size={14} />} />
      <ZoomButton label={words.fit} onClick={() => void flow.fitView(FIT)} icon={<FitIcon size={14} />} />
    </Panel>
  )
})

interface ZoomButtonProps {
  readonly label: string
  readonly icon: ReactNode
  readonly onClick: () => void
}

function ZoomButton({ label, icon, onClick }: ZoomButtonProps) {
  return (
    <Tooltip label={label} position="right">
      <ActionIcon variant="default" aria-label={label} onClick={onClick}>
        {icon}
      </ActionIcon>
    </Tooltip>
  )
}
