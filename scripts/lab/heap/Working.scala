package org.apache.spark.sql.execution.streaming.state

import java.io.{FilterOutputStream, OutputStream}

import org.apache.spark.SparkConf
import org.apache.spark.io

/** The heap as it was within a task. */
object Working {
  @volatile var armed: Boolean = false
  @volatile var seen: Option[LiveHeap.Histogram] = None

  /** Takes the histogram, once. */
  def look(): Unit = if (armed) {
    armed = false
    LiveHeap.settle()
    seen = Some(LiveHeap.histogram())
  }
}

/**
 * Spark's codec of this name, which looks at the heap when a delta is closed: every put and removal of the batch is
 * done, and the working copy is not yet one of the loaded maps (`HDFSBackedStateStoreProvider.commitUpdates`).
 */
class LZ4CompressionCodec(conf: SparkConf) extends io.LZ4CompressionCodec(conf) {
  override def compressedOutputStream(out: OutputStream): OutputStream =
    new FilterOutputStream(super.compressedOutputStream(out)) {
      override def write(bytes: Array[Byte], offset: Int, length: Int): Unit = this.out.write(bytes, offset, length)
      override def close(): Unit = { Working.look(); super.close() }
    }
}
