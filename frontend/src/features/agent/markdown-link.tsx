import type { ReactNode } from 'react'
import { addressKind } from './address-kind.ts'
import classes from './markdown-view.module.css'

export interface LabelledAddressProps {
  readonly address: string
  readonly label: ReactNode
}

/**
 * A link of an answer, which opens in a new tab. Where it leads to another host its address is shown beside it: a model,
 * or the author of the text that it read, can give a link any label. An address that cannot be followed is text.
 */
export function MarkdownLink({ address, label }: LabelledAddressProps) {
  const kind = addressKind(address, globalThis.location.href)
  if (kind === 'none') return <LabelledAddress address={address} label={label} />
  return (
    <>
      <a href={address} target="_blank" rel="noopener noreferrer">
        {hasLabel(label) ? label : address}
      </a>
      {kind === 'outer' && !isSame(label, address) && <Address> ({address})</Address>}
    </>
  )
}

/** A label and its address as text. */
export function LabelledAddress({ address, label }: LabelledAddressProps) {
  if (!hasLabel(label) || isSame(label, address)) return <Address>{address}</Address>
  return (
    <>
      {label} <Address>({address})</Address>
    </>
  )
}

function Address({ children }: { readonly children: ReactNode }) {
  return <span className={classes.address}>{children}</span>
}

function hasLabel(label: ReactNode): boolean {
  return label !== undefined && label !== null && label !== ''
}

/** Whether the label already tells the address, as in links that are written without one (`www.example.org`). */
function isSame(label: ReactNode, address: string): boolean {
  return !hasLabel(label) || label === address || (typeof label === 'string' && `http://${label}` === address)
}
