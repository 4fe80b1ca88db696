package org.apache.spark.sql.execution.streaming.state

import java.lang.management.ManagementFactory
import javax.management.ObjectName

import scala.collection.mutable

/** What one class has on the heap. */
case class ClassUse(objects: Long, bytes: Long) {
  def -(other: ClassUse): ClassUse = ClassUse(objects - other.objects, bytes - other.bytes)
}

/** The JVM's own answer to what lies on its heap, and Spark's loaded state stores. */
object LiveHeap {
  type Histogram = Map[String, ClassUse]

  /** Classes that state is made of. Only these are kept, since the names of all would be on the heap themselves. */
  private val Ours = {
    val state = "org.apache.spark.sql.execution.streaming.state."
    val concurrent = "java.util.concurrent.ConcurrentHashMap"
    val set = "scala.collection.mutable.HashSet"
    Set("[B", "org.apache.spark.sql.catalyst.expressions.UnsafeRow", state + "StateStoreRow",
      state + "StateStoreRowWithChecksum", state + "NoPrefixHDFSBackedStateStoreMap",
      state + "PrefixScannableHDFSBackedStateStoreMap", concurrent, concurrent + "$Node", concurrent + "$TreeNode",
      s"[L$concurrent$$Node;", set, set + "$Node", s"[L$set$$Node;")
  }

  private val Line = """\s*\d+:\s+(\d+)\s+(\d+)\s+(\S+).*""".r
  private val Nothing = ClassUse(0, 0)

  /** Live objects by class name: the command behind `jcmd PID GC.class_histogram`, which collects garbage first. */
  def histogram(): Histogram = {
    System.gc() // twice, so that what the first one only enqueued (references, cleaners) is gone too
    val command = new ObjectName("com.sun.management:type=DiagnosticCommand")
    val arguments = Array[AnyRef](Array.empty[String])
    val signature = Array(classOf[Array[String]].getName)
    val text = ManagementFactory.getPlatformMBeanServer.invoke(command, "gcClassHistogram", arguments, signature)
    val uses = text.toString.linesIterator.collect {
      case Line(objects, bytes, name) if Ours(name) => name -> ClassUse(objects.toLong, bytes.toLong)
    }
    uses.toSeq.groupMapReduce(_._1)(_._2)((a, b) => ClassUse(a.objects + b.objects, a.bytes + b.bytes))
  }

  /** Lets the ContextCleaner remove what only a collection tells it of: shuffles, broadcasts, accumulators. */
  def settle(): Unit = for (_ <- 0 until 4) { System.gc(); Thread.sleep(150) }

  /** What `before` has more than `after`, by class; of classes that differ. */
  def freed(before: Histogram, after: Histogram): Histogram =
    (before.keySet ++ after.keySet).map { name =>
      name -> (before.getOrElse(name, Nothing) - after.getOrElse(name, Nothing))
    }.filter(_._2 != Nothing).toMap

  /** The stores that this JVM holds; they stay loaded after their query has stopped. */
  def providers(): Seq[HDFSBackedStateStoreProvider] = {
    val field = StateStore.getClass.getDeclaredFields.find(_.getName.endsWith("loadedProviders")).get
    field.setAccessible(true)
    val loaded = field.get(StateStore).asInstanceOf[mutable.HashMap[_, StateStoreProvider]]
    loaded.synchronized(loaded.values.toSeq).collect { case p: HDFSBackedStateStoreProvider => p }
  }
}
