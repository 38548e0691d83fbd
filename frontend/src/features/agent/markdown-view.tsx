import { Fragment, type ReactNode, useMemo } from 'react'
import { Scrollable } from '../../components/scrollable.tsx'
import { markdownStrings as strings } from '../../strings/agent.ts'
import { type Block, parseMarkdown, type TableCell } from './markdown-blocks.ts'
import type { Inline } from './markdown-inline.ts'
import classes from './markdown-view.module.css'

const INLINE_TAGS = { strong: 'strong', emphasis: 'em', strike: 's' } as const

/**
 * Draws Markdown of a model without trusting it: elements of our own only, no HTML, no images, and links as text, so that
 * an answer can neither load nor lead anywhere.
 */
export function MarkdownView({ source }: { readonly source: string }) {
  const blocks = useMemo(() => parseMarkdown(source), [source])
  return <div className={classes.root}>{drawBlocks(blocks)}</div>
}

function drawBlocks(blocks: readonly Block[]): ReactNode {
  return blocks.map((block, index) => <BlockView key={index} block={block} />)
}

function BlockView({ block }: { readonly block: Block }) {
  switch (block.kind) {
    case 'heading':
      return <HeadingView level={block.level}>{drawInline(block.children)}</HeadingView>
    case 'paragraph':
      return <p>{drawInline(block.children)}</p>
    case 'code':
      return (
        <Scrollable className={classes.code} label={strings.code(block.language)}>
          <pre>
            <code>{block.text}</code>
          </pre>
        </Scrollable>
      )
    case 'quote':
      return <blockquote>{drawBlocks(block.children)}</blockquote>
    case 'list':
      return <ListView start={block.start} items={block.items} />
    case 'table':
      return <TableView head={block.head} rows={block.rows} />
    default:
      return <hr />
  }
}

/** Headings of an answer stand under those of the page, so they begin at the third level. */
function HeadingView({ level, children }: { readonly level: number; readonly children: ReactNode }) {
  if (level <= 2) return <h3>{children}</h3>
  return level === 3 ? <h4>{children}</h4> : <h5>{children}</h5>
}

interface ListViewProps {
  readonly start: number | null
  readonly items: readonly (readonly Block[])[]
}

function ListView({ start, items }: ListViewProps) {
  const entries = items.map((item, index) => <li key={index}>{drawItem(item)}</li>)
  return start === null ? <ul>{entries}</ul> : <ol start={start}>{entries}</ol>
}

/** An item that is one paragraph is drawn without the space around it. */
function drawItem(item: readonly Block[]): ReactNode {
  const [first, ...rest] = item
  if (first?.kind !== 'paragraph') return drawBlocks(item)
  return (
    <>
      {drawInline(first.children)}
      {drawBlocks(rest)}
    </>
  )
}

interface TableViewProps {
  readonly head: readonly TableCell[]
  readonly rows: readonly (readonly TableCell[])[]
}

function TableView({ head, rows }: TableViewProps) {
  return (
    <Scrollable className={classes.table} label={strings.table}>
      <table>
        <thead>
          <tr>
            {head.map(({ align, children }, index) => (
              <th key={index} scope="col" data-align={align}>
                {drawInline(children)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map(({ align, children }, column) => (
                <td key={column} data-align={align}>
                  {drawInline(children)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrollable>
  )
}

function drawInline(items: readonly Inline[]): ReactNode {
  return items.map((item, index) => <Fragment key={index}>{drawOne(item)}</Fragment>)
}

function drawOne(item: Inline): ReactNode {
  switch (item.kind) {
    case 'text':
      return item.text
    case 'code':
      return <code>{item.text}</code>
    case 'break':
      return <br />
    case 'link':
      return item.label === item.address || item.label === '' ? (
        <span className={classes.address}>{item.address}</span>
      ) : (
        <>
          {item.label} <span className={classes.address}>({item.address})</span>
        </>
      )
    default: {
      const Tag = INLINE_TAGS[item.kind]
      return <Tag>{drawInline(item.children)}</Tag>
    }
  }
}
